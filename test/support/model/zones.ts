/** The zones of histories: both sides of the date line, both hemispheres' summer times, an offset of 45 minutes, none. */
export const zones = [
  'Pacific/Auckland',
  'Pacific/Honolulu',
  'Asia/Kathmandu',
  'America/New_York',
  'Europe/Lisbon',
  'UTC',
  'Pacific/Kiritimati',
  'Etc/GMT+12',
  'America/Santiago',
] as const;

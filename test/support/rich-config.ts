import { cityPlanAndDevice } from './configs.js';

/**
 * A configuration in which an event touches every feature that there is: two points systems with filters, boosts of every kind, levels, a
 * cap and a floor, and leaderboards with and without room. It is written as an object, so that the model runs the very same one; as JSON it
 * is a YAML file.
 */
export const richConfig = {
  attributes: cityPlanAndDevice,
  metrics: [
    { key: 'cards', name: 'Cards', units: 'cards' },
    { key: 'minutes', name: 'Minutes', units: 'minutes' },
    { key: 'mistakes', name: 'Mistakes', units: 'mistakes' },
  ],
  points: [
    {
      key: 'xp',
      name: 'Experience',
      maxPoints: 4_000,
      levels: [
        { key: 'one', name: 'One', points: 50 },
        { key: 'two', name: 'Two', points: 500 },
        { key: 'three', name: 'Three', points: 2_000 },
      ],
      triggers: [
        { key: 'cards', type: 'metric', metricKey: 'cards', metricThreshold: 5, points: 7, status: 'active' },
        {
          key: 'cards-on-phone',
          type: 'metric',
          metricKey: 'cards',
          metricThreshold: 20,
          points: 9,
          status: 'active',
          eventAttributes: [{ attributeKey: 'device', attributeValue: 'phone' }],
        },
        {
          key: 'cards-in-lisbon',
          type: 'metric',
          metricKey: 'cards',
          metricThreshold: 10,
          points: 3,
          status: 'active',
          userAttributes: [{ attributeKey: 'city', attributeValue: 'Lisbon' }],
        },
        { key: 'minutes', type: 'metric', metricKey: 'minutes', metricThreshold: 10, points: 4, status: 'active' },
        { key: 'mistakes', type: 'metric', metricKey: 'mistakes', metricThreshold: 3, points: -25, status: 'active' },
      ],
      boosts: [
        { key: 'over', name: 'Over', start: '2020-01-01', end: '2020-12-31', multiplier: 50, rounding: 'up' },
        { key: 'always', name: 'Always', start: '2020-01-01', multiplier: 1.1, rounding: 'up' },
        {
          key: 'lisbon',
          name: 'Lisbon',
          start: '2020-01-01',
          multiplier: 1.25,
          rounding: 'nearest',
          userAttributes: [{ attributeKey: 'city', attributeValue: 'Lisbon' }],
        },
        { key: 'own', name: 'Own', start: '2020-01-01', multiplier: 1.333, rounding: 'down', userId: 'u0' },
      ],
    },
    {
      key: 'gems',
      name: 'Gems',
      levels: [{ key: 'rich', name: 'Rich', points: 20 }],
      triggers: [
        { key: 'gems', type: 'metric', metricKey: 'cards', metricThreshold: 25, points: 1, status: 'active' },
        {
          key: 'gems-pro',
          type: 'metric',
          metricKey: 'minutes',
          metricThreshold: 7,
          points: 2,
          status: 'active',
          userAttributes: [{ attributeKey: 'plan', attributeValue: 'pro' }],
        },
      ],
      boosts: [
        {
          key: 'pro',
          name: 'Pro',
          start: '2020-01-01',
          multiplier: 1.5,
          rounding: 'down',
          userAttributes: [{ attributeKey: 'plan', attributeValue: 'pro' }],
        },
      ],
    },
  ],
  leaderboards: [
    {
      key: 'all-cards',
      name: 'All cards',
      status: 'active',
      start: '2020-01-01',
      rankBy: 'metric',
      metricKey: 'cards',
      maxParticipants: 1_000,
    },
    {
      key: 'best-cards',
      name: 'Best cards',
      status: 'active',
      start: '2020-01-01',
      rankBy: 'metric',
      metricKey: 'cards',
      maxParticipants: 20,
    },
    {
      key: 'best-minutes',
      name: 'Best minutes',
      status: 'active',
      start: '2020-01-01',
      rankBy: 'metric',
      metricKey: 'minutes',
      maxParticipants: 50,
    },
    {
      key: 'top-xp',
      name: 'Top experience',
      status: 'active',
      start: '2020-01-01',
      rankBy: 'points',
      pointsSystemKey: 'xp',
      maxParticipants: 100,
    },
    {
      key: 'top-gems',
      name: 'Top gems',
      status: 'active',
      start: '2020-01-01',
      rankBy: 'points',
      pointsSystemKey: 'gems',
      maxParticipants: 1_000,
    },
  ],
} as const;

import { formatShare } from '../../../ui/format.js';

interface MeterProps {
  readonly label: string;
  /** From 0 to 1; null where it is not known. */
  readonly share: number | null;
  readonly text: string;
}

/** How far something is. */
export function Meter({ label, share, text }: MeterProps) {
  return (
    <div class="meter">
      {share !== null && (
        <progress value={share} max={1} aria-label={label}>
          {formatShare(share)}
        </progress>
      )}
      <span class="hint">{text}</span>
    </div>
  );
}

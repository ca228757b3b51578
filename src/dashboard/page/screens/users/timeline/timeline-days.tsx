import { useMemo, useState } from 'preact/hooks';
import { useScope } from '../../../scope/scope.js';
import { Badge } from '../../../ui/badge.js';
import { formatDate, formatNumber } from '../../../ui/format.js';
import { Json } from '../../../ui/json.js';
import { CopyButton } from '../../../ui/secret.js';
import {
  boostsSentence,
  daysOf,
  localTime,
  streakSentence,
  type AchievementEntry,
  type Award,
  type Day,
  type Entry,
  type EventEntry,
  type Item,
  type StreakEntry,
} from './timeline.js';

/** The entries of a timeline by day, each with what it caused below it. */
export function Days({ entries, zone, isOwn }: { readonly entries: readonly Entry[]; readonly zone: string; readonly isOwn: boolean }) {
  const days = useMemo(() => daysOf(entries, zone, isOwn), [entries, zone, isOwn]);
  return (
    <>
      {days.map((day) => (
        <OneDay key={day.day} day={day} zone={zone} />
      ))}
    </>
  );
}

const streakTones: Readonly<Record<StreakEntry['how'], 'neutral' | 'good' | 'warning' | 'bad'>> = {
  extended: 'good',
  freeze: 'warning',
  pause: 'neutral',
  day_off: 'neutral',
  move: 'neutral',
  lost: 'bad',
};

function OneDay({ day: { day, streaks, items }, zone }: { readonly day: Day; readonly zone: string }) {
  return (
    <section class="timeline-day" aria-label={formatDate(day)}>
      <header>
        <h3>{formatDate(day)}</h3>
        {streaks.map((entry) => (
          <Badge key={entry.how} tone={streakTones[entry.how]}>
            {streakSentence(entry)}
          </Badge>
        ))}
      </header>
      {items.length > 0 && (
        <ol>
          {items.map((item) => (
            <Row key={keyOf(item)} item={item} zone={zone} />
          ))}
        </ol>
      )}
    </section>
  );
}

const keyOf = ({ entry }: Item): string => (entry.type === 'achievement' ? entry.achievement.id : entry.id);

function Row({ item: { entry, achievements }, zone }: { readonly item: Item; readonly zone: string }) {
  const [isOpen, setOpen] = useState(false);
  const awards = entry.type === 'event' ? entry.awards : [];
  const time = localTime(entry.at, zone);
  return (
    <li>
      <time dateTime={entry.at} title={entry.at}>
        {time}
      </time>
      <div class="timeline-what">
        <What entry={entry} />
        {awards.length + achievements.length > 0 && (
          <ul>
            {awards.map((award) => (
              <li key={award.id}>
                <AwardText award={award} />
              </li>
            ))}
            {achievements.map((one) => (
              <li key={one.achievement.id}>
                <AchievementText entry={one} />
              </li>
            ))}
          </ul>
        )}
        {isOpen && <Details id={keyOf({ entry, achievements })} value={achievements.length > 0 ? { ...entry, achievements } : entry} />}
      </div>
      <button type="button" class="plain" aria-expanded={isOpen} aria-label={`Details of ${time}`} onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'Less' : 'Details'}
      </button>
    </li>
  );
}

function What({ entry }: { readonly entry: Item['entry'] }) {
  switch (entry.type) {
    case 'event':
      return <EventText event={entry} />;
    case 'award':
      return (
        <p>
          <AwardText award={entry} />
        </p>
      );
    case 'achievement':
      return (
        <p>
          <AchievementText entry={entry} />
        </p>
      );
  }
}

const signed = (value: number): string => (value < 0 ? `−${formatNumber(-value)}` : `+${formatNumber(value)}`);

function EventText({ event }: { readonly event: EventEntry }) {
  const { metric, value, total, attributes, idempotencyKey, corrects, awards } = event;
  const { href } = useScope();
  return (
    <p>
      <strong>{signed(value)}</strong> <a href={href(`/configuration/metrics/${encodeURIComponent(metric.key)}`)}>{metric.name}</a>
      <span class="hint"> → {formatNumber(total)}</span>
      {Object.entries(attributes).map(([key, text]) => (
        <Badge key={key}>
          {key}: {text}
        </Badge>
      ))}
      {corrects !== undefined && <Badge tone="warning">takes back event {corrects}</Badge>}
      {idempotencyKey !== null && <Badge>idempotency key {idempotencyKey}</Badge>}
      {awards.length === 0 && <span class="hint"> · no points</span>}
    </p>
  );
}

function AwardText({ award }: { readonly award: Award }) {
  const { href } = useScope();
  const { system, trigger, awarded, total, level, adjustment } = award;
  const boosts = boostsSentence(award);
  return (
    <>
      <strong>{signed(awarded)}</strong> <a href={href(`/levels?system=${encodeURIComponent(system.key)}`)}>{system.name}</a>
      <span class="hint"> → {formatNumber(total)}</span>
      {adjustment && (
        <span>
          {' '}
          by an operator: {adjustment.reason} <span class="hint">(key {adjustment.key.name || adjustment.key.id})</span>
        </span>
      )}
      {trigger && (
        <span>
          {' '}
          by{' '}
          <a href={href(`/configuration/points/${encodeURIComponent(system.key)}`)}>
            <code>{trigger.key}</code>
          </a>
        </span>
      )}
      {!trigger && !adjustment && <span class="none"> by a trigger that no longer exists</span>}
      {boosts !== undefined && <Badge tone="good">{boosts}</Badge>}
      {level !== undefined && <Badge>{level === null ? 'no level any more' : `level ${level.name}`}</Badge>}
    </>
  );
}

function AchievementText({ entry: { achievement } }: { readonly entry: AchievementEntry }) {
  const { href } = useScope();
  return (
    <>
      Completed <a href={href(`/achievements/${encodeURIComponent(achievement.key)}`)}>{achievement.name}</a>
    </>
  );
}

/** The id of an entry, and the entry as the API returned it. */
function Details({ id, value }: { readonly id: string; readonly value: unknown }) {
  return (
    <div class="timeline-details">
      <p class="copied">
        <code>{id}</code> <CopyButton text={id} />
      </p>
      <Json value={value} />
    </div>
  );
}

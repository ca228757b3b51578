import type { NotificationType } from '../../config/schema/message-types.js';
import type { MessageTemplate } from '../../config/schema/model.js';

/** The fields of a template that have texts. */
export const textFields = ['subject', 'heading', 'body', 'button', 'buttonUrl', 'pushTitle', 'pushBody'] as const;
export type TextField = (typeof textFields)[number];

/** The texts of a template; null falls back to the next template (docs/messages-look.md). */
export type MessageTexts = Pick<MessageTemplate, TextField>;

const count = '{% assign count = achievements | size %}';
const streakName =
  "{{ streak.length }}-{% case streak.frequency %}{% when 'weekly' %}week{% when 'monthly' %}month{% else %}day{% endcase %} streak";
const ofPeriod = "{% case streak.frequency %}{% when 'weekly' %}This week{% when 'monthly' %}This month{% else %}Today{% endcase %}";
const ofRecap =
  '{% if period.name == "day" %}on {{ period.start | date: "full" }}' +
  '{% else %}from {{ period.start | date: "day" }} to {{ period.end | date: "day" }}{% endif %}';
const idleDays = '{{ reactivation.daysSinceLastActive }} day{% if reactivation.daysSinceLastActive != 1 %}s{% endif %}';
/** Whether there is progress to show. */
const hasNext = 'next.progress > 0';

/** The texts of messages without a template, and of the fields that a template leaves out. Written in the language of templates. */
export const defaultTexts: Readonly<Record<NotificationType, MessageTexts>> = {
  achievement_completed: {
    subject: `${count}{% if count > 1 %}You completed {{ count }} achievements{% else %}You completed “{{ achievement.name }}”{% endif %}`,
    heading: 'Well done{% if user.name != "" %}, {{ user.name }}{% endif %}!',
    body: `${count}{% if count > 1 %}You completed {{ count }} achievements:{% else %}You completed an achievement:{% endif %}`,
    button: 'See your progress',
    buttonUrl: null,
    pushTitle: `${count}{% if count > 1 %}{{ count }} achievements completed{% else %}Achievement completed{% endif %}`,
    pushBody:
      `${count}{% if count > 1 %}{{ achievements | map: "name" | join: ", " }}{% else %}{{ achievement.name }}` +
      '{% if achievement.description != "" %}: {{ achievement.description }}{% endif %}{% endif %}',
  },
  recap: {
    subject: 'Your {{ period.name }} in review',
    heading: 'Your {{ period.name }}{% if user.name != "" %}, {{ user.name }}{% endif %}',
    body: `Here is what you did ${ofRecap}.{% if streak.length > 1 %} You are on a ${streakName}: keep it up!{% endif %}`,
    button: 'Continue',
    buttonUrl: null,
    pushTitle: 'Your {{ period.name }} in review',
    pushBody:
      `{% if streak.length > 1 %}You are on a ${streakName}. {% endif %}` +
      `{% if ${hasNext} %}You are {{ next.progress }}% of the way to “{{ next.name }}”.{% else %}See what you did ${ofRecap}.{% endif %}`,
  },
  reactivation: {
    subject: `{% if ${hasNext} %}You are {{ next.progress }}% of the way to “{{ next.name }}”{% else %}Pick up where you left off{% endif %}`,
    heading: 'Ready to continue{% if user.name != "" %}, {{ user.name }}{% endif %}?',
    body: [
      `It has been ${idleDays} since you were last active. Your progress is saved: pick up where you left off.`,
      `{% if streak.length > 0 %}Your ${streakName} is still alive.{% endif %}`,
    ].join('\n\n'),
    button: 'Continue',
    buttonUrl: null,
    pushTitle: 'Pick up where you left off',
    pushBody:
      `{% if ${hasNext} %}You are {{ next.progress }}% of the way to “{{ next.name }}”.` +
      `{% else %}It has been ${idleDays} since you were last active.{% endif %}`,
  },
  streak_reminder: {
    subject: `Keep your ${streakName}`,
    heading: '{% if user.name != "" %}{{ user.name }}, keep{% else %}Keep{% endif %} your streak alive',
    body: [
      `You are on a ${streakName}. ${ofPeriod} does not count yet: be active ` +
        '{% if streak.frequency == "daily" %}before the day ends{% else %}by {{ streak.expires | date: "day" }}{% endif %} to extend it.',
      `{% if streak.freezes > 0 %}You have {{ streak.freezes }} streak freeze{% if streak.freezes > 1 %}s{% endif %}. ` +
        'If you do not extend the streak in time, one is used to keep it.{% endif %}',
    ].join('\n\n'),
    button: 'Extend your streak',
    buttonUrl: null,
    pushTitle: `Keep your ${streakName}`,
    pushBody:
      `${ofPeriod} does not count yet. ` +
      '{% if streak.freezes > 0 %}Extend your streak, and keep your freezes.{% else %}Extend your streak before it ends.{% endif %}',
  },
};

import type { NotificationType } from '../config/message-types.js';
import type { MessageTexts } from './texts.js';

/** The locale of the built-in texts. */
export const builtInLocale = 'en';

const count = '{% assign count = achievements | size %}';
const streakName =
  "{{ streak.length }}-{% case streak.frequency %}{% when 'weekly' %}week{% when 'monthly' %}month{% else %}day{% endcase %} streak";
const next =
  '{% if next.name != "" %}Next up: “{{ next.name }}”. You are {{ next.progress }}% of the way there.{% endif %}';

/** The texts of messages without a template, and of the fields that a template leaves out. Written in the language of templates. */
export const defaultTexts: Readonly<Record<NotificationType, MessageTexts>> = {
  achievement_completed: {
    subject: `${count}{% if count > 1 %}You completed {{ count }} achievements{% else %}You completed “{{ achievement.name }}”{% endif %}`,
    heading: 'Well done{% if user.name != "" %}, {{ user.name }}{% endif %}!',
    body: [
      `${count}{% if count > 1 %}You completed {{ count }} achievements in a row. Here they are:{% else %}You completed an achievement:{% endif %}`,
      next,
    ].join('\n\n'),
    button: 'See your progress',
    buttonUrl: null,
    pushTitle: `${count}{% if count > 1 %}{{ count }} achievements completed{% else %}Achievement completed{% endif %}`,
    pushBody: `${count}{% if count > 1 %}{% for item in achievements %}{{ item.name }}{% unless forloop.last %}, {% endunless %}{% endfor %}{% else %}You completed “{{ achievement.name }}”.{% endif %}`,
  },
  recap: {
    subject: 'Your {{ period.name }} in review',
    heading: 'Your {{ period.name }}{% if user.name != "" %}, {{ user.name }}{% endif %}',
    body: [
      `Here is what you did ` +
        `{% if period.name == 'day' %}on {{ period.start }}{% else %}from {{ period.start }} to {{ period.end }}{% endif %}.` +
        `{% if streak.length > 1 %} You are on a ${streakName}: keep it up!{% endif %}`,
      next,
    ].join('\n\n'),
    button: 'Continue',
    buttonUrl: null,
    pushTitle: 'Your {{ period.name }} in review',
    pushBody: `{% if streak.length > 1 %}You are on a ${streakName}. {% endif %}See what you did{% if next.name != "" %}, and what is next: “{{ next.name }}”{% endif %}.`,
  },
  reactivation: {
    subject: `{% if next.name != "" %}You are {{ next.progress }}% of the way to “{{ next.name }}”{% else %}Pick up where you left off{% endif %}`,
    heading: 'Welcome back{% if user.name != "" %}, {{ user.name }}{% endif %}',
    body: [
      'It has been {{ reactivation.daysSinceLastActive }} days since your last activity. Your progress is saved, and you can continue any time.',
      `{% if streak.length > 0 %}Your ${streakName} is still alive.{% endif %}`,
      next,
    ].join('\n\n'),
    button: 'Continue',
    buttonUrl: null,
    pushTitle: 'Pick up where you left off',
    pushBody:
      '{% if next.name != "" %}You are {{ next.progress }}% of the way to “{{ next.name }}”.{% else %}It has been {{ reactivation.daysSinceLastActive }} days since your last activity.{% endif %}',
  },
  streak_reminder: {
    subject: `Keep your ${streakName}`,
    heading: '{% if user.name != "" %}{{ user.name }}, keep{% else %}Keep{% endif %} your streak alive',
    body: [
      `You are on a ${streakName}. ` +
        `{% case streak.frequency %}{% when 'weekly' %}This week{% when 'monthly' %}This month{% else %}Today{% endcase %} does not count yet: ` +
        `be active by the end of {{ streak.expires }} to extend it.`,
      `{% if streak.freezes > 0 %}You have {{ streak.freezes }} streak freeze{% if streak.freezes > 1 %}s{% endif %}. ` +
        'If you do not extend the streak in time, one of them is used.{% endif %}',
    ].join('\n\n'),
    button: 'Extend your streak',
    buttonUrl: null,
    pushTitle: `Keep your ${streakName}`,
    pushBody:
      `{% case streak.frequency %}{% when 'weekly' %}This week{% when 'monthly' %}This month{% else %}Today{% endcase %} does not count yet. ` +
      `{% if streak.freezes > 0 %}Extend your streak, and keep your freezes.{% else %}Extend your streak before it ends.{% endif %}`,
  },
};

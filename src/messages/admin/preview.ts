import { notificationTypes, type NotificationType } from '../../config/schema/message-types.js';
import { requestSentence } from '../../config/file/problems.js';
import { problemsOfTexts } from '../../config/check/template-problems.js';
import type { SummaryStores } from '../../engine/points.js';
import { completedBy, readUser, type UserState } from '../../engine/users.js';
import type { ActiveConfig } from '../../plan/active-config.js';
import { completedResponse } from '../../responses/achievements.js';
import { baseStreak } from '../../responses/streaks.js';
import { dateToDay, dayToDate } from '../../shared/calendar.js';
import { LaurelError } from '../../shared/errors.js';
import type { CompletedAchievement, NotificationAbout } from '../rules/notification.js';
import type { MessageTexts } from '../render/defaults.js';
import { recapDates } from '../rules/times.js';
import { readVariables } from '../render/read-variables.js';
import { type MessageLinks, type RenderedEmail, type RenderedPush, renderEmail, renderPush } from '../render/render.js';
import { type MessageConfig, type TemplateTexts, withTemplate } from '../render/texts.js';

export interface Preview {
  readonly email: RenderedEmail;
  readonly push: RenderedPush;
}

/** What a preview is rendered with in place of what is stored. */
export interface PreviewDraft {
  /** In place of the user's locale. */
  readonly locale?: string | undefined;
  /** In place of the template of the type and the locale. */
  readonly template?: MessageTexts | undefined;
}

export interface PreviewQuery extends PreviewDraft {
  readonly type: NotificationType;
  readonly user: string;
  /** `sampleLinks` without them. */
  readonly links?: MessageLinks;
}

/** Links straight to where the button leads, and one to unsubscribe that leads nowhere: the reader of a preview is not the user. */
const sampleLinks: MessageLinks = { click: (url) => url, unsubscribeUrl: 'https://example.invalid/unsubscribe' };

export const isNotificationType = (text: string): text is NotificationType => (notificationTypes as readonly string[]).includes(text);

/** The achievement that the user has completed last; without one, the first of the configuration. Throws a 422 when there is none. */
function sampleAchievement({ config, now, ...state }: UserState): CompletedAchievement {
  const completed = [...completedBy(state)].sort(([, a], [, b]) => b - a);
  const newest = completed.map(([no, at]) => ({ achievement: config.achievementByNo.get(no), at })).find(({ achievement }) => achievement);
  const achievement = newest?.achievement ?? [...config.achievements.values()][0];
  if (!achievement)
    throw new LaurelError(
      'unprocessable',
      'There is no achievement in the configuration that a message could be about: add one, or preview another type.',
    );
  return completedResponse(config, achievement, newest?.at ?? now);
}

/** What a preview is about: a sample that suits the user. */
function sampleAbout(type: NotificationType, state: UserState): NotificationAbout {
  const { config, day } = state;
  switch (type) {
    case 'achievement_completed':
      return { type, achievements: [sampleAchievement(state)] };
    case 'recap': {
      const current = recapDates(config.document, day);
      const { first, last } = recapDates(config.document, dateToDay(current.first) - 1);
      return { type, periodStart: first, periodEnd: last };
    }
    case 'reactivation':
      return { type, messageNumber: 1, daysSinceLastActive: config.document.settings.reactivationDays[0] ?? 1 };
    case 'streak_reminder':
      return { type, periodEnd: baseStreak(config, state.streak).periodEnd ?? dayToDate(day) };
  }
}

/** The texts of a draft, once the rules for templates accept them. Throws a 422 with what is wrong. */
function checkDraft({ document }: Pick<ActiveConfig, 'document'>, draft: TemplateTexts): TemplateTexts {
  const problems = problemsOfTexts(document)(draft);
  if (problems.length > 0) throw new LaurelError('unprocessable', requestSentence(problems));
  return draft;
}

/**
 * Renders a message to a user as it would be now, and sends nothing. It is about the user's newest achievement (without one, the first of the
 * configuration), the last period that is over, or the first reactivation. Throws a 404 for an unknown user, a 422 without any achievement and
 * for a draft that breaks the rules of templates.
 */
export async function previewMessage(
  stores: SummaryStores,
  { tenant }: Pick<ActiveConfig, 'tenant'>,
  query: PreviewQuery,
): Promise<Preview> {
  const { type, user, locale, template, links = sampleLinks } = query;
  const current = await readUser(stores.engine, tenant, user);
  const shown = locale ?? current.config.document.messages.defaultLocale;
  const draft = template && checkDraft(current.config, { ...template, type, locale: shown, archived: false });
  const texts = (config: MessageConfig): MessageConfig => (draft ? withTemplate(config, draft) : config);
  const read = await readVariables(stores, { tenant }, { user, locale: draft?.locale ?? locale, texts }, sampleAbout(type, current));
  if (!read) throw new LaurelError('not_found', `There is no user with the id ${JSON.stringify(user)}.`);
  const { variables, state } = read;
  const config = texts(state.config);
  return { email: await renderEmail(config, variables, links), push: await renderPush(config, variables) };
}

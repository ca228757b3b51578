import type { components } from '../../api/schema/admin.js';
import { fieldOf, type Keyed } from '../../editor/file/json.js';

type Texts = components['schemas']['TemplateTexts'];

const textFields = ['subject', 'heading', 'body', 'button', 'buttonUrl', 'pushTitle', 'pushBody'] as const;

/** What renders a template of the draft for a user, before it is applied. */
interface RenderRequest {
  readonly type: components['schemas']['Message']['type'];
  readonly userId: string;
  readonly locale?: string;
  readonly template: Texts;
}

/** Fields that are not texts yet are left to the service, which says what is wrong with them. */
export function renderRequest(template: Keyed, userId: string): RenderRequest {
  const locale = fieldOf(template, 'locale');
  const texts = textFields.map((field) => [field, fieldOf(template, field) ?? null]);
  return {
    type: fieldOf(template, 'type') as RenderRequest['type'],
    userId,
    ...(typeof locale === 'string' ? { locale } : {}),
    template: Object.fromEntries(texts) as Texts,
  };
}

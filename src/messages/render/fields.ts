import type { MessageTemplate } from '../../config/schema/model.js';

/** The fields of a template that have texts. */
export const textFields = ['subject', 'heading', 'body', 'button', 'buttonUrl', 'pushTitle', 'pushBody'] as const;
export type TextField = (typeof textFields)[number];

/** The texts of a template; null falls back to the next template (docs/messages-look.md). */
export type MessageTexts = Pick<MessageTemplate, TextField>;

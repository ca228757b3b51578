import type { NotificationType } from '../../config/schema/message-types.js';
import { directionOf, fallbacksOf } from './locales.js';
import type { StreakDay, StreakVariables } from './variables.js';

/** The words of the layout that are in no template (docs/messages-look.md), in one language. `{names}` are filled in. */
interface Words {
  readonly streak: Readonly<Record<StreakVariables['frequency'], string>>;
  /** What the table of a recap is, for screen readers. */
  readonly summary: string;
  readonly rank: string;
  readonly next: string;
  readonly of: string;
  readonly toNextLevel: string;
  /** How many achievements the list leaves out: worded so that it suits any number. */
  readonly more: string;
  /** Why the user receives the email. */
  readonly reasons: Readonly<Record<NotificationType, string>>;
  readonly unsubscribe: string;
  /** The email that asks a user to confirm the address. */
  readonly confirmation: Readonly<Record<'subject' | 'body' | 'ignore' | 'button' | 'reason', string>>;
  readonly states: Readonly<Record<StreakDay['state'], string>>;
}

/** The language of the built-in texts, and of the words for languages without their own. */
export const builtInLocale = 'en';

const languages: Readonly<Record<string, Words>> & { readonly [builtInLocale]: Words } = {
  en: {
    streak: {
      daily: 'Your streak in the last {n} days',
      weekly: 'Your streak in the last {n} weeks',
      monthly: 'Your streak in the last {n} months',
    },
    summary: 'In numbers',
    rank: 'Rank {n}',
    next: 'Next: {name}',
    of: '{current} of {target}',
    toNextLevel: '{points} to {level}',
    more: 'and {n} more',
    reasons: {
      achievement_completed: 'You receive this email because you completed an achievement.',
      recap: 'You receive this email as a regular review of your activity.',
      reactivation: 'You receive this email because you have not been active lately.',
      streak_reminder: 'You receive this email because your streak is about to end.',
    },
    unsubscribe: 'Unsubscribe or choose what you receive',
    confirmation: {
      subject: 'Confirm your email address',
      body: '{brand} would like to send you emails about your progress. Confirm that this address is yours to receive them.',
      ignore: 'If you did not expect this email, ignore it: you will receive no others.',
      button: 'Confirm the address',
      reason: 'You receive this email because this address was entered at {brand}.',
    },
    states: { extended: 'active', frozen: 'freeze used', paused: 'paused', kept: 'kept', missed: 'missed', today: 'not active yet' },
  },
  ar: {
    streak: { daily: 'سلسلتك في آخر {n} يومًا', weekly: 'سلسلتك في آخر {n} أسابيع', monthly: 'سلسلتك في آخر {n} أشهر' },
    summary: 'بالأرقام',
    rank: 'المرتبة {n}',
    next: 'التالي: {name}',
    of: '{current} من {target}',
    toNextLevel: '{points} حتى {level}',
    more: 'و{n} غيرها',
    reasons: {
      achievement_completed: 'وصلتك هذه الرسالة لأنك حققت إنجازًا.',
      recap: 'وصلتك هذه الرسالة كملخص دوري لنشاطك.',
      reactivation: 'وصلتك هذه الرسالة لأنك لم تكن نشطًا مؤخرًا.',
      streak_reminder: 'وصلتك هذه الرسالة لأن سلسلتك على وشك الانتهاء.',
    },
    unsubscribe: 'إلغاء الاشتراك أو اختيار ما يصلك',
    confirmation: {
      subject: 'أكّد عنوان بريدك الإلكتروني',
      body: 'يود {brand} أن يرسل إليك رسائل عن تقدمك. أكّد أن هذا العنوان لك كي تصلك.',
      ignore: 'إذا لم تكن تتوقع هذه الرسالة فتجاهلها: لن تصلك رسائل أخرى.',
      button: 'تأكيد العنوان',
      reason: 'وصلتك هذه الرسالة لأن هذا العنوان أُدخل لدى {brand}.',
    },
    states: { extended: 'نشط', frozen: 'استُخدم تجميد', paused: 'متوقف مؤقتًا', kept: 'محفوظ', missed: 'فائت', today: 'غير نشط بعد' },
  },
  de: {
    streak: {
      daily: 'Deine Serie in den letzten {n} Tagen',
      weekly: 'Deine Serie in den letzten {n} Wochen',
      monthly: 'Deine Serie in den letzten {n} Monaten',
    },
    summary: 'In Zahlen',
    rank: 'Platz {n}',
    next: 'Als Nächstes: {name}',
    of: '{current} von {target}',
    toNextLevel: '{points} bis {level}',
    more: 'und {n} mehr',
    reasons: {
      achievement_completed: 'Diese E-Mail wurde verschickt, weil ein Erfolg erreicht wurde.',
      recap: 'Diese E-Mail ist ein regelmäßiger Rückblick auf deine Aktivität.',
      reactivation: 'Diese E-Mail wurde verschickt, weil es zuletzt keine Aktivität gab.',
      streak_reminder: 'Diese E-Mail wurde verschickt, weil deine Serie bald endet.',
    },
    unsubscribe: 'Abmelden oder auswählen, welche E-Mails ankommen',
    confirmation: {
      subject: 'Bestätige deine E-Mail-Adresse',
      body: '{brand} möchte dir E-Mails über deinen Fortschritt schicken. Bestätige, dass diese Adresse dir gehört, um sie zu erhalten.',
      ignore: 'Wenn du diese E-Mail nicht erwartet hast, ignoriere sie: Es kommen keine weiteren.',
      button: 'Adresse bestätigen',
      reason: 'Diese E-Mail wurde verschickt, weil diese Adresse bei {brand} angegeben wurde.',
    },
    states: {
      extended: 'aktiv',
      frozen: 'Joker verwendet',
      paused: 'pausiert',
      kept: 'erhalten',
      missed: 'verpasst',
      today: 'noch nicht aktiv',
    },
  },
  es: {
    streak: {
      daily: 'Tu racha en los últimos {n} días',
      weekly: 'Tu racha en las últimas {n} semanas',
      monthly: 'Tu racha en los últimos {n} meses',
    },
    summary: 'En cifras',
    rank: 'Puesto {n}',
    next: 'Siguiente: {name}',
    of: '{current} de {target}',
    toNextLevel: '{points} para {level}',
    more: 'y {n} más',
    reasons: {
      achievement_completed: 'Recibes este correo porque has completado un logro.',
      recap: 'Recibes este correo como resumen periódico de tu actividad.',
      reactivation: 'Recibes este correo porque últimamente no has tenido actividad.',
      streak_reminder: 'Recibes este correo porque tu racha está a punto de terminar.',
    },
    unsubscribe: 'Darse de baja o elegir qué correos recibir',
    confirmation: {
      subject: 'Confirma tu dirección de correo',
      body: '{brand} quiere enviarte correos sobre tu progreso. Confirma que esta dirección es tuya para recibirlos.',
      ignore: 'Si no esperabas este correo, ignóralo: no recibirás más.',
      button: 'Confirmar la dirección',
      reason: 'Recibes este correo porque esta dirección se indicó en {brand}.',
    },
    states: {
      extended: 'con actividad',
      frozen: 'protector usado',
      paused: 'en pausa',
      kept: 'conservado',
      missed: 'sin actividad',
      today: 'pendiente',
    },
  },
  fr: {
    streak: {
      daily: 'Votre série des {n} derniers jours',
      weekly: 'Votre série des {n} dernières semaines',
      monthly: 'Votre série des {n} derniers mois',
    },
    summary: 'En chiffres',
    rank: 'Rang {n}',
    next: 'Prochain : {name}',
    of: '{current} sur {target}',
    toNextLevel: '{points} avant {level}',
    more: 'et {n} de plus',
    reasons: {
      achievement_completed: 'Vous recevez cet e-mail parce que vous avez obtenu un succès.',
      recap: 'Vous recevez cet e-mail comme bilan régulier de votre activité.',
      reactivation: "Vous recevez cet e-mail parce que vous n'avez pas été actif récemment.",
      streak_reminder: 'Vous recevez cet e-mail parce que votre série va bientôt se terminer.',
    },
    unsubscribe: 'Se désabonner ou choisir ce que vous recevez',
    confirmation: {
      subject: 'Confirmez votre adresse e-mail',
      body: '{brand} souhaite vous envoyer des e-mails sur vos progrès. Confirmez que cette adresse est la vôtre pour les recevoir.',
      ignore: "Si vous n'attendiez pas cet e-mail, ignorez-le : vous n'en recevrez pas d'autres.",
      button: "Confirmer l'adresse",
      reason: 'Vous recevez cet e-mail parce que cette adresse a été indiquée chez {brand}.',
    },
    states: {
      extended: 'actif',
      frozen: 'joker utilisé',
      paused: 'en pause',
      kept: 'conservé',
      missed: 'manqué',
      today: 'pas encore actif',
    },
  },
  pt: {
    streak: {
      daily: 'Sua sequência nos últimos {n} dias',
      weekly: 'Sua sequência nas últimas {n} semanas',
      monthly: 'Sua sequência nos últimos {n} meses',
    },
    summary: 'Em números',
    rank: 'Posição {n}',
    next: 'A seguir: {name}',
    of: '{current} de {target}',
    toNextLevel: '{points} para {level}',
    more: 'e mais {n}',
    reasons: {
      achievement_completed: 'Você recebe este e-mail porque concluiu uma conquista.',
      recap: 'Você recebe este e-mail como resumo regular da sua atividade.',
      reactivation: 'Você recebe este e-mail porque não teve atividade recentemente.',
      streak_reminder: 'Você recebe este e-mail porque sua sequência está prestes a terminar.',
    },
    unsubscribe: 'Cancelar inscrição ou escolher o que receber',
    confirmation: {
      subject: 'Confirme seu endereço de e-mail',
      body: '{brand} gostaria de enviar e-mails sobre o seu progresso. Confirme que este endereço é seu para recebê-los.',
      ignore: 'Se você não esperava este e-mail, ignore-o: você não receberá outros.',
      button: 'Confirmar o endereço',
      reason: 'Você recebe este e-mail porque este endereço foi informado em {brand}.',
    },
    states: {
      extended: 'ativo',
      frozen: 'proteção usada',
      paused: 'em pausa',
      kept: 'mantido',
      missed: 'perdido',
      today: 'ainda não ativo',
    },
  },
};

/** The words in the language of a locale, or in English, and which language it is. */
export type LocalWords = Words & { readonly locale: string; readonly dir: 'ltr' | 'rtl' };

/** The languages that have words. */
export const wordLocales = Object.keys(languages);

export function wordsFor(locale: string): LocalWords {
  const found = fallbacksOf(locale).find((tag) => Object.hasOwn(languages, tag)) ?? builtInLocale;
  return { ...(languages[found] ?? languages[builtInLocale]), locale: found, dir: directionOf(found) };
}

/** Fills in the `{names}` of words. */
export const fill = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');

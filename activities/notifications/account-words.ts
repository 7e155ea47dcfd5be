import type { AccountNotice, NoticeKind } from '../../db/identity/account-notices.queries.js';

interface AccountWords {
  kinds: Record<NoticeKind, (details: AccountNotice['details']) => { subject: string; what: string }>;
  /** When it happened, and from where, if that is known. */
  when: (at: string, from: string) => string;
  advice: string;
  button: string;
}

const at = 'your account at the Research Assessment Platform';
const en: AccountWords = {
  kinds: {
    password_changed: ({ tokens_left }) => ({
      subject: 'Your password was changed',
      what:
        `The password of ${at} was changed. All logins have ended.` +
        (tokens_left
          ? `\nAccess tokens of yours that still work: ${tokens_left}. List them with GET /api/v1/tokens, revoke one ` +
            'with DELETE /api/v1/tokens/{id}.'
          : ''),
    }),
    mfa_enabled: () => ({
      subject: 'A second factor was turned on',
      what: `A second factor was turned on for ${at}.`,
    }),
    mfa_disabled: () => ({
      subject: 'Your second factor was turned off',
      what: `The second factor of ${at} was turned off.`,
    }),
    mfa_reset: () => ({
      subject: 'Your second factor was removed',
      what: `An administrator removed the second factor of ${at}. All logins have ended.`,
    }),
    recovery_code_used: () => ({
      subject: 'A recovery code was used',
      what: `A recovery code of ${at} was used in place of the second factor.`,
    }),
    recovery_codes_renewed: () => ({
      subject: 'Your recovery codes were replaced',
      what: `New recovery codes were made for ${at}. The old codes do not work any more.`,
    }),
    new_device: () => ({
      subject: 'Login from a new device',
      what: `Somebody logged in to ${at} from a device or address that was not used before.`,
    }),
    api_token_created: ({ token_name = '' }) => ({
      subject: 'An access token was created',
      what: `An access token was created for ${at}: “${token_name}”.`,
    }),
    reauthentication_locked: () => ({
      subject: 'Wrong passwords within your login',
      what: `Somebody who is logged in to ${at} gave a wrong password or code five times.`,
    }),
    account_locked: () => ({
      subject: 'Failed logins to your account',
      what:
        `Too many logins to ${at} failed. Where they came from nobody can log in for 15 minutes.\n` +
        'Devices that you logged in with before are not affected.',
    }),
  },
  when: (instant, from) => `When: ${instant}\n${from === '' ? '' : `From: ${from}\n`}`,
  advice: 'If this was you, you can ignore this message. If not, choose a new password and tell an administrator.',
  button: 'Log in',
};

const konto = 'Konto bei der Research Assessment Platform';
const de: AccountWords = {
  kinds: {
    password_changed: ({ tokens_left }) => ({
      subject: 'Ihr Passwort wurde geändert',
      what:
        `Das Passwort für Ihr ${konto} wurde geändert. Alle Anmeldungen sind beendet.` +
        (tokens_left
          ? `\nIhre Zugriffstoken, die weiter gelten: ${tokens_left}. GET /api/v1/tokens nennt sie, ` +
            'DELETE /api/v1/tokens/{id} widerruft eines.'
          : ''),
    }),
    mfa_enabled: () => ({
      subject: 'Ein zweiter Faktor wurde eingeschaltet',
      what: `Für Ihr ${konto} wurde ein zweiter Faktor eingeschaltet.`,
    }),
    mfa_disabled: () => ({
      subject: 'Ihr zweiter Faktor wurde ausgeschaltet',
      what: `Der zweite Faktor für Ihr ${konto} wurde ausgeschaltet.`,
    }),
    mfa_reset: () => ({
      subject: 'Ihr zweiter Faktor wurde entfernt',
      what: `Die Verwaltung hat den zweiten Faktor für Ihr ${konto} entfernt. Alle Anmeldungen sind beendet.`,
    }),
    recovery_code_used: () => ({
      subject: 'Ein Wiederherstellungscode wurde benutzt',
      what: `Für Ihr ${konto} wurde statt des zweiten Faktors ein Wiederherstellungscode benutzt.`,
    }),
    recovery_codes_renewed: () => ({
      subject: 'Ihre Wiederherstellungscodes wurden ersetzt',
      what: `Für Ihr ${konto} gibt es neue Wiederherstellungscodes. Die alten gelten nicht mehr.`,
    }),
    new_device: () => ({
      subject: 'Anmeldung von einem neuen Gerät',
      what: `Jemand hat sich bei Ihrem ${konto} von einem Gerät oder einer Adresse angemeldet, die neu ist.`,
    }),
    api_token_created: ({ token_name = '' }) => ({
      subject: 'Ein Zugriffstoken wurde angelegt',
      what: `Für Ihr ${konto} wurde ein Zugriffstoken angelegt: „${token_name}“.`,
    }),
    reauthentication_locked: () => ({
      subject: 'Falsche Passwörter in Ihrer Anmeldung',
      what:
        `Jemand, der bei Ihrem ${konto} angemeldet ist, hat fünfmal ein falsches Passwort oder einen falschen ` +
        'Code angegeben.',
    }),
    account_locked: () => ({
      subject: 'Fehlgeschlagene Anmeldungen bei Ihrem Konto',
      what:
        `Zu viele Anmeldungen bei Ihrem ${konto} sind fehlgeschlagen. Von dort, woher sie kamen, kann sich 15 ` +
        'Minuten lang niemand anmelden.\nGeräte, mit denen Sie sich schon angemeldet haben, sind nicht betroffen.',
    }),
  },
  when: (instant, from) => `Wann: ${instant}\n${from === '' ? '' : `Von: ${from}\n`}`,
  advice:
    'Wenn Sie das waren, können Sie diese Nachricht ignorieren. Wenn nicht, wählen Sie ein neues Passwort und sagen ' +
    'Sie der Verwaltung Bescheid.',
  button: 'Anmelden',
};

/** The words of notices to users about their own accounts. */
export const accountWords: Record<'en' | 'de', AccountWords> = { en, de };

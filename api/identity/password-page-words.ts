import type { BuiltInLanguage } from '../../workflows/domain/notifications/built-in.js';

export interface PasswordPageWords {
  title: string;
  password: string;
  again: string;
  revoke: string;
  save: string;
  /** What its script says. */
  said: {
    /** A page that was reloaded has no link any more: it is out of the address. */
    open: string;
    differ: string;
    invalid: string;
    common: string;
    later: string;
    saved: string;
    /** `{n}` tokens for programs remain. */
    tokens: string;
    unreachable: string;
  };
}

export const passwordPageWords: Record<BuiltInLanguage, PasswordPageWords> = {
  en: {
    title: 'Choose a password',
    password: 'New password, at least 12 characters',
    again: 'Once more',
    revoke: 'End my access tokens (programs) too',
    save: 'Save',
    said: {
      open: 'Open this page again by the link in your e-mail.',
      differ: 'The two are not the same.',
      invalid: 'The link is invalid, has expired or was used before. Request a new one.',
      common: 'The password is too common. Choose another one.',
      later: 'That did not work. Please try again later.',
      saved: 'Saved. You can log in now.',
      tokens: 'Access tokens of yours that still work: {n}.',
      unreachable: 'The service is not reached at the moment: try again.',
    },
  },
  de: {
    title: 'Passwort wählen',
    password: 'Neues Passwort, mindestens 12 Zeichen',
    again: 'Noch einmal',
    revoke: 'Auch meine Zugriffstoken (für Programme) beenden',
    save: 'Speichern',
    said: {
      open: 'Öffnen Sie diese Seite noch einmal mit dem Link in Ihrer E-Mail.',
      differ: 'Die beiden Passwörter sind verschieden.',
      invalid: 'Der Link ist ungültig, abgelaufen oder bereits verwendet. Fordern Sie einen neuen an.',
      common: 'Das Passwort ist zu verbreitet. Wählen Sie ein anderes.',
      later: 'Das hat nicht funktioniert. Bitte versuchen Sie es später noch einmal.',
      saved: 'Gespeichert. Sie können sich jetzt anmelden.',
      tokens: 'Zugriffstoken von Ihnen, die weiter gelten: {n}.',
      unreachable: 'Der Dienst ist gerade nicht erreichbar: Versuchen Sie es noch einmal.',
    },
  },
  es: {
    title: 'Elija una contraseña',
    password: 'Contraseña nueva, de al menos 12 caracteres',
    again: 'Otra vez',
    revoke: 'Anular también mis tokens de acceso (de programas)',
    save: 'Guardar',
    said: {
      open: 'Vuelva a abrir esta página con el enlace de su correo.',
      differ: 'Las dos contraseñas no coinciden.',
      invalid: 'El enlace no es válido, ha caducado o ya se ha usado. Solicite uno nuevo.',
      common: 'La contraseña es demasiado común. Elija otra.',
      later: 'No ha funcionado. Inténtelo de nuevo más tarde.',
      saved: 'Guardada. Ya puede iniciar sesión.',
      tokens: 'Tokens de acceso suyos que siguen siendo válidos: {n}.',
      unreachable: 'No se puede contactar con el servicio en este momento: inténtelo de nuevo.',
    },
  },
  fr: {
    title: 'Choisissez un mot de passe',
    password: 'Nouveau mot de passe, au moins 12 caractères',
    again: 'Encore une fois',
    revoke: 'Révoquer aussi mes jetons d’accès (programmes)',
    save: 'Enregistrer',
    said: {
      open: 'Ouvrez de nouveau cette page avec le lien de votre e-mail.',
      differ: 'Les deux mots de passe sont différents.',
      invalid: 'Le lien n’est pas valable, a expiré ou a déjà servi. Demandez-en un nouveau.',
      common: 'Ce mot de passe est trop courant. Choisissez-en un autre.',
      later: 'Cela n’a pas fonctionné. Veuillez réessayer plus tard.',
      saved: 'Enregistré. Vous pouvez maintenant vous connecter.',
      tokens: 'Jetons d’accès à votre nom encore valables : {n}.',
      unreachable: 'Le service n’est pas joignable pour le moment : réessayez.',
    },
  },
};

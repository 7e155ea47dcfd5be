import { NotificationSettings, settingsFaults } from '../../../workflows/domain/notifications/settings.js';
import { invalidFields } from '../../http/errors.js';
import { Type } from '../../http/common.schemas.js';
import { check } from '../../http/validation/validation.js';

const InStudy = Type.Object({ config: Type.Object({ notifications: NotificationSettings }) });

const PREFIX = 'config.notifications.';

/**
 * Validates a study's `config.notifications`; defaults apply if it is missing. @throws 422 naming every fault with its
 * path
 */
export function acceptNotifications(config: Record<string, unknown> | undefined): void {
  const notifications = config?.notifications;
  if (notifications === undefined) return;
  check(InStudy, { config: { notifications } }, 'body');
  const errors = settingsFaults(notifications as NotificationSettings).map((fault) => ({
    ...fault,
    path: `${PREFIX}${fault.path}`,
    message: `${PREFIX}${fault.message}`,
  }));
  if (errors.length > 0) throw invalidFields(errors);
}

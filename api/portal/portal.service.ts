import { putOutbox } from '../../db/outbox/outbox.js';
import { caregiverById } from '../../db/portal/caregivers.queries.js';
import { participantForUpdate } from '../../db/participants/participants.queries.js';
import {
  asCaregiver,
  caredFor,
  closedLink,
  insertLinkNotification,
  linkHash,
  lockHolderOfLink,
  openCaregiverLink,
  openLink,
} from '../../db/portal/portal.queries.js';
import type { CaredFor, OpenedCaregiver, PortalParticipant } from '../../db/portal/portal.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import type { Settings } from '../../settings.js';
import type { CaregiverCaller, ParticipantCaller } from '../http/access.js';
import { sessionSecret } from '../http/security/portal.js';
import type { PortalPrincipal } from '../http/security/portal.js';
import { invalid, problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import type { Dependencies } from '../dependencies.js';
import { issuePortalTokens } from './portal-logins.service.js';
import type { PortalTokens } from './portal-logins.service.js';
import { requireLinkQuota } from '../identity/quotas.js';
import type { RequestScope } from '../http/state.js';
import type { Tx } from '../../db/client/database.js';
import type { RequestContext } from '../http/request-context.js';

const addresses = { email: 'email', sms: 'phone' } as const;

type Kind = 'participant' | 'caregiver';
interface Recipient {
  id: string;
  study_id: string;
  email: string | null;
  phone: string | null;
}

/**
 * Queues a message with a portal link, to a participant or a caregiver. The link's token is created when the message is
 * written: it does not exist yet here, and is never returned.
 * @throws 404, 409 PARTICIPANT_WITHDRAWN, CAREGIVER_INACTIVE, CARES_FOR_NOBODY, 400 NO_ADDRESS, 422 not exactly one
 * recipient, 429 QUOTA_EXCEEDED
 */
export async function requestLink(
  { tx, audit, actor, context }: RequestScope,
  settings: Settings,
  input: { participant_id?: string; caregiver_id?: string; channel: 'email' | 'sms' },
): Promise<void> {
  if ((input.participant_id === undefined) === (input.caregiver_id === undefined))
    throw invalid('participant_id', 'ONE_OF', 'or caregiver_id: exactly one of the two is given');
  const kind: Kind = input.caregiver_id === undefined ? 'participant' : 'caregiver';
  const { id, study_id, ...recipient } =
    input.caregiver_id === undefined
      ? await takingPart(tx, input.participant_id!)
      : await caring(tx, input.caregiver_id);
  const address = addresses[input.channel];
  if (!recipient[address]) {
    const message = `the ${kind} has no ${address} for the channel ${input.channel}`;
    throw problem('NO_ADDRESS', {
      detail: `The ${kind} has no ${address} for the channel ${input.channel}.`,
      errors: [{ path: 'channel', code: 'NO_ADDRESS', message }],
    });
  }
  const to = kind === 'participant' ? { participant_id: id } : { caregiver_id: id };
  await requireLinkQuota(tx, settings, to);
  const notification = await insertLinkNotification(tx, {
    studyId: study_id,
    to,
    channel: input.channel,
  });
  audit.record({
    ...auditActor(actor, context),
    study_id,
    action: 'portal_link_requested',
    resource_type: kind,
    resource_id: id,
    metadata: { channel: input.channel, notification_id: notification },
  });
  await putOutbox(tx, [{ topic: 'notification', studyId: study_id, subject: notification }]);
}

async function takingPart(tx: Tx, participantId: string): Promise<Recipient> {
  const participant = await participantForUpdate(tx, participantId);
  if (!participant) throw problem('NOT_FOUND', { detail: 'There is no such participant.' });
  if (participant.status === 'withdrawn') throw problem('PARTICIPANT_WITHDRAWN');
  return participant;
}

async function caring(tx: Tx, caregiverId: string): Promise<Recipient> {
  const caregiver = await caregiverById(tx, caregiverId);
  if (!caregiver) throw problem('NOT_FOUND', { detail: 'There is no such caregiver.' });
  if (caregiver.status !== 'active') throw problem('CAREGIVER_INACTIVE');
  if ((await caredFor(tx, caregiver.id, { skip: 0, limit: 1 })).total === 0) throw problem('CARES_FOR_NOBODY');
  return caregiver;
}

/** The result of opening a link: the participant's own portal, or a caregiver's. */
type Opened = ({ participant: PortalParticipant } | { caregiver: OpenedCaregiver; participants: CaredFor[] }) & {
  tokens: PortalTokens;
};

/**
 * Opens a link once and returns the portal's session.
 * @param remember a page of the same browser can continue without another link
 * @returns the answer's body, and its cookies
 * @throws 401 INVALID_LINK, the same for a link that is unknown, used or expired, or whose holder has withdrawn or lost
 * access
 */
export async function openSession(
  services: Dependencies,
  { token, remember = false }: { token: string; remember?: boolean },
  context: RequestContext,
): Promise<Pick<PortalTokens, 'cookies'> & { body: PortalTokens['body'] & Record<string, unknown> }> {
  const hash = linkHash(sessionSecret(services.settings), token);
  const opened = await withStudyScope(services.database, '*', async ({ tx, audit }): Promise<Opened | undefined> => {
    const issue = (holder: PortalPrincipal, study_id: string) =>
      issuePortalTokens(services, tx, { holder, study_id, remember }, context);
    const entry = { user_id: null, request_id: context.requestId };
    await lockHolderOfLink(tx, hash);
    const participant = await openLink(tx, hash);
    if (participant) {
      audit.record({
        ...entry,
        study_id: participant.study_id,
        action: 'portal_session_started',
        resource_type: 'participant',
        resource_id: participant.id,
      });
      return { participant, tokens: await issue({ kind: 'participant', id: participant.id }, participant.study_id) };
    }
    const caregiver = await openCaregiverLink(tx, hash);
    if (caregiver) {
      audit.record({
        ...entry,
        study_id: caregiver.study_id,
        action: 'portal_session_started',
        resource_type: 'caregiver',
        resource_id: caregiver.id,
        metadata: asCaregiver(caregiver.id),
      });
      return {
        caregiver,
        participants: (await caredFor(tx, caregiver.id, { skip: 0, limit: MAX_VISITS })).items,
        tokens: await issue(
          { kind: 'caregiver', id: caregiver.id, epoch: caregiver.session_epoch },
          caregiver.study_id,
        ),
      };
    }
    const closed = await closedLink(tx, hash);
    if (closed) {
      const kind: Kind = closed.caregiver_id === null ? 'participant' : 'caregiver';
      audit.record({
        ...entry,
        study_id: closed.study_id,
        action: 'portal_session_refused',
        resource_type: kind,
        resource_id: closed.caregiver_id ?? closed.participant_id,
        metadata: { reason: closed.reason },
      });
    }
    return undefined;
  });
  // Thrown after the commit, so that the record of the refusal stays.
  if (!opened) throw problem('INVALID_LINK');
  const { tokens } = opened;
  if ('participant' in opened) return { ...tokens, body: { ...tokens.body, participant: opened.participant } };
  const {
    caregiver: { session_epoch: _epoch, ...caregiver },
    participants,
  } = opened;
  // Named if there is only one.
  const participant = participants.length === 1 ? withoutCare(participants[0]!) : null;
  return { ...tokens, body: { ...tokens.body, participant, caregiver, participants } };
}

/** More than any caregiver has; the list itself is paged. */
const MAX_VISITS = 500;
const withoutCare = ({ relationship: _relationship, ...participant }: CaredFor): PortalParticipant => participant;

/** The participants of a portal token: the participant itself, or a caregiver's. */
export async function householdOf(
  tx: Tx,
  actor: ParticipantCaller | CaregiverCaller,
  range: { skip: number; limit: number },
) {
  if (actor.role === 'caregiver') {
    const { id, study_id, name, preferred_language } = actor;
    return { caregiver: { id, study_id, name, preferred_language }, ...(await caredFor(tx, id, range)) };
  }
  const { id, study_id, participant_code, preferred_language, status } = actor;
  const all = [{ id, study_id, participant_code, preferred_language, status, relationship: null }];
  return { caregiver: null, items: all.slice(range.skip, range.skip + range.limit), total: 1 };
}

import { ApplicationFailure } from '@temporalio/workflow';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * A workflow that refuses a start without the ids that it needs. It may be started by hand: the run then fails once and
 * says why, where it would otherwise repeat a task or an activity that cannot succeed.
 * @param ids members of the argument that must be uuids
 */
export const checkedStart =
  <Start extends object, Result>(
    ids: readonly (keyof Start & string)[],
    workflow: (start: Start) => Promise<Result>,
  ): ((start: Start) => Promise<Result>) =>
  async (start) => {
    const given: unknown = start;
    const members = typeof given === 'object' && given !== null ? (given as Record<string, unknown>) : {};
    const wrong = ids.filter((id) => typeof members[id] !== 'string' || !UUID.test(members[id]));
    if (wrong.length > 0)
      throw ApplicationFailure.nonRetryable(
        `The workflow takes one JSON object; ${wrong.join(' and ')} must be there, as a uuid.`,
        'INVALID_ARGUMENTS',
      );
    return workflow(start);
  };

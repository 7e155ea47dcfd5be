/**
 * How an activity on one record of the capture system runs. A missing heartbeat reveals a dead worker; one study's
 * burst does not delay the others.
 */
export const recordActivity = (studyId: string) =>
  ({
    heartbeatTimeout: '10s',
    startToCloseTimeout: '15m',
    priority: { fairnessKey: studyId },
    retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '60s' },
  }) as const;

/** How to fix a failed push, by the kind of its last failure. */
export function pushRemedy(errorType: string | null, message: string | null): string {
  const again =
    'then push again: POST /api/sessions/{session_id}/push, or POST /api/studies/{study_id}/push-failures/retry.';
  switch (errorType) {
    case 'configuration':
      return (
        'Complete what is missing (configuration of the capture system, event of the visit, record id of the ' +
        `participant), ${again}`
      );
    case 'rejected':
      if (message?.startsWith('RECORD_NOT_FOUND'))
        return (
          'Save a token that sees the record, and its results go out by themselves. Or restore it in the capture ' +
          `system, or correct external_id of the participant, ${again}`
        );
      if (message !== null && /\((401|403)\)/.test(message))
        return 'Save a token that may import records, and test the connection: the results go out by themselves.';
      return (
        'Correct data_field_mapping, datacapture_event of the visit, or the dictionary of the capture system, ' +
        `${again}`
      );
    case 'connection_error':
    case 'http_error':
    case 'timeout':
    case 'invalid_response':
    case 'circuit_open':
      return `Have the capture system reached again (GET /api/datacapture/status/{study_id}), ${again}`;
    default:
      return `The worker's log says more of it; ${again}`;
  }
}

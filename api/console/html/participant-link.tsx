/** A participant's code as a link to the participant's page, and the site. */
export function ParticipantLink({
  of: { participant_id, participant_code, site_code },
}: {
  of: { participant_id: string; participant_code: string | null; site_code: string | null };
}) {
  return (
    <span>
      <a href={`/console/participants/${participant_id}`}>
        <bdi>{participant_code}</bdi>
      </a>
      {site_code && (
        <span class="quiet">
          {' '}
          <bdi>{site_code}</bdi>
        </span>
      )}
    </span>
  );
}

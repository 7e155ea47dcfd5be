/**
 * Of the messages that give way those that change something are taken before mere starts, of which ten thousand may
 * wait.
 */
export const name = '0044-patient-changes';
export const up = `
create index outbox_patient_changes on outbox (available_at, id) where patient and topic <> 'participant-start';
`;

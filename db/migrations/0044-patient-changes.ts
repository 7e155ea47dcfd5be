/** Among low-priority messages, changes are claimed before mere starts, of which ten thousand may be pending. */
export const name = '0044-patient-changes';
export const up = `
create index outbox_patient_changes on outbox (available_at, id) where patient and topic <> 'participant-start';
`;

/** The arm of the capture system in which a participant's record is enrolled; null where its project has one arm only. */
export const name = '0065-capture-arms';
export const up = `
alter table participants add column datacapture_arm integer;
`;

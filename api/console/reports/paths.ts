export const REPORTS = '/console/reports';
export const DOCUMENTS = `${REPORTS}/documents` as const;

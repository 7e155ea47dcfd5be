export const FORMAT = 'research-assessment-study';
export const FORMAT_VERSION = 1;

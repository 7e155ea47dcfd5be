/** The search attributes of workflows, registered by `npm start`. Not encrypted: they identify no person. */
export const searchAttributes = {
  StudyId: 'Keyword',
  SiteId: 'Keyword',
  AnchorStatus: 'Keyword',
  AwaitingSince: 'Datetime',
  Outcome: 'Keyword',
  StudyCode: 'Keyword',
  ParticipantCode: 'Keyword',
  WaitingFor: 'KeywordList',
} as const;

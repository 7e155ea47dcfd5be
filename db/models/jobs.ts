import { Model } from 'objection';
import { Row } from './base.js';
import { Study } from './records.js';

/** Background work with a record: an export, a simulation, an import. */
export class ExportJob extends Row {
  static override tableName = 'exports';
  static override jsonAttributes = ['filters'];
  declare study_id: string;
  declare requested_by_id: string | null;
  declare site_id: string | null;
  declare dataset: string;
  declare format: string;
  declare filters: object;
  declare status: 'pending' | 'running' | 'completed' | 'failed' | 'expired';
  declare progress: number;
  declare rows: number | null;
  declare size: number | null;
  declare sha256: string | null;
  declare error: string | null;
  declare started_at: string | null;
  declare completed_at: string | null;
  declare expires_at: string | null;
  static override relationMappings = () => ({
    study: {
      relation: Model.BelongsToOneRelation,
      modelClass: Study,
      join: { from: 'exports.study_id', to: 'studies.id' },
    },
  });
}

export class Simulation extends Row {
  static override tableName = 'simulations';
  static override jsonAttributes = ['inputs'];
  declare study_id: string;
  declare status: 'pending' | 'running' | 'completed' | 'failed';
  declare progress: number;
  declare inputs: object;
  /** As text: `result_sha256` depends on its digits and the order of its members. */
  declare result: string | null;
  declare result_sha256: string | null;
  declare error: string | null;
  declare completed_at: string | null;
}

export class ParticipantImport extends Row {
  static override tableName = 'participant_imports';
  static override idColumn = ['study_id', 'id'];
  declare study_id: string;
  declare requested_by_id: string | null;
  declare sha256: string;
  declare status: 'running' | 'completed' | 'failed';
  declare completed_at: string | null;
}

/** A PDF that a user requested in the console, with its file while that is kept. */
export class ReportDocument extends Row {
  static override tableName = 'report_documents';
  static override jsonAttributes = ['question'];
  declare study_id: string;
  declare requested_by_id: string;
  declare request_id: string;
  declare question: object;
  declare status: 'pending' | 'running' | 'completed' | 'failed' | 'expired';
  declare progress: number;
  declare attempt: number;
  declare taken_until: string | null;
  declare error: string | null;
  declare disposition: string | null;
  declare reach: string | null;
  declare content: Buffer | null;
  declare completed_at: string | null;
  declare expires_at: string | null;
  static override relationMappings = () => ({
    study: {
      relation: Model.BelongsToOneRelation,
      modelClass: Study,
      join: { from: 'report_documents.study_id', to: 'studies.id' },
    },
  });
}

/** A dry run of a policy over a large study. */
export class PolicyTrialRow extends Row {
  static override tableName = 'policy_trials';
  static override jsonAttributes = ['result'];
  declare study_id: string;
  declare requested_by_id: string;
  declare policy_text: string;
  declare status: 'running' | 'completed' | 'failed';
  declare seen: number;
  declare total: number;
  declare alive_until: string;
  declare result: object | null;
}

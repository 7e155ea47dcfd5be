#!/usr/bin/env node
/**
 * Verifies an export of the audit log with nothing but the export and the public key:
 *
 *   node audit-verify-export.mjs export.ndjson --key public.pem [--key older.pem] [--checkpoints folder] [--proof
 * proof.json]
 *
 * This one file is the whole verifier: it needs Node.js 20 and no package, no database, no service. It states again,
 * on purpose, how records are hashed and signed, so that it does not trust the program that it checks.
 *
 * - Every record is hashed again: SHA-256 of the previous record's hash (hex) and the record's canonical JSON (RFC
 *   8785).
 * - Every checkpoint must bear a valid Ed25519 signature of one of the keys, and state what the records give: their
 *   number, the last hash, the root of the Merkle tree (RFC 6962) over the hashes, and each record's first eight bytes.
 * - The export must be whole: its first line names the chains, its last the numbers.
 * - `--checkpoints`: files that were kept outside the service (AUDIT_CHECKPOINT_DIR), held against the export as well.
 * - `--proof`: an answer of GET /api/audit/{record}/proof or …/consistency, checked alone or beside an export.
 *
 * Exit code 0: everything holds. 1: a fault, named by chain and record. 2: it could not be checked.
 */
import { createHash, createPublicKey, verify } from 'node:crypto';
import { createReadStream, existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();
const GENESIS = '0'.repeat(64);
const LEAF = Buffer.of(0),
  NODE = Buffer.of(1);

/** RFC 8785: keys sorted by UTF-16 code units, no spaces, strings and numbers as ECMAScript writes them. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)
    .join(',')}}`;
}

/** The roots of full subtrees, from the largest to the smallest. */
class Tree {
  size = 0;
  peaks = [];
  append(data) {
    let hash = sha256(LEAF, data);
    for (let full = this.size; full % 2 === 1; full = (full - 1) / 2) hash = sha256(NODE, this.peaks.pop(), hash);
    this.peaks.push(hash);
    this.size += 1;
  }
  root() {
    return this.peaks.slice(0, -1).reduceRight((right, left) => sha256(NODE, left, right), this.peaks.at(-1));
  }
}

/** RFC 9162, section 2.1.3.2: the root that an audit path leads to, undefined when the path cannot be one. */
function rootOfInclusion({ leaf_index, tree_size, path }, leaf) {
  if (leaf_index >= tree_size) return undefined;
  let [node, last, hash] = [leaf_index, tree_size - 1, leaf];
  for (const step of path.map((hex) => Buffer.from(hex, 'hex'))) {
    if (last === 0) return undefined;
    if (node % 2 === 1 || node === last) {
      hash = sha256(NODE, step, hash);
      while (node % 2 === 0 && node !== 0) [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
    } else hash = sha256(NODE, hash, step);
    [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  }
  return last === 0 ? hash : undefined;
}

/**
 * RFC 9162, section 2.1.4.2: whether the path proves that the tree with root `first` begins the tree with root
 * `second`.
 */
function isConsistent({ first_size, second_size, path }, first, second) {
  if (first_size === second_size) return path.length === 0 && first === second;
  const steps = path.map((hex) => Buffer.from(hex, 'hex'));
  if (first_size < 1 || first_size > second_size || steps.length === 0) return false;
  if (Number.isInteger(Math.log2(first_size))) steps.unshift(Buffer.from(first, 'hex'));
  let [node, last] = [first_size - 1, second_size - 1];
  while (node % 2 === 1) [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  let [ofFirst, ofSecond] = [steps[0], steps[0]];
  for (const step of steps.slice(1)) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      [ofFirst, ofSecond] = [sha256(NODE, step, ofFirst), sha256(NODE, step, ofSecond)];
      while (node % 2 === 0 && node !== 0) [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
    } else ofSecond = sha256(NODE, ofSecond, step);
    [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  }
  return last === 0 && ofFirst.toString('hex') === first && ofSecond.toString('hex') === second;
}

const keyIdOf = (key) =>
  createHash('sha256')
    .update(key.export({ format: 'der', type: 'spki' }))
    .digest('hex')
    .slice(0, 16);

function signedText({ chain, rows, head, root, created_at, previous, previous_rows, witness, key_id }) {
  const witness_sha256 = sha256(Buffer.from(witness, 'base64')).toString('hex');
  return canonical({ chain, rows, head, root, created_at, previous, previous_rows, key_id, format: 1, witness_sha256 });
}
const isSigned = (checkpoint, keys) => {
  const key = keys.get(checkpoint.key_id);
  return (
    key !== undefined &&
    verify(null, Buffer.from(signedText(checkpoint)), key, Buffer.from(checkpoint.signature, 'base64'))
  );
};
/** After a change of the signing key an export has checkpoints of both: the missing key is no forgery. */
const keyOf = ({ key_id }, keys) =>
  keys.has(key_id)
    ? `(key ${key_id})`
    : `(key ${key_id} is not among those given: name the former one by another --key)`;
const recordHash = ({ prev_hash, hash: _hash, ...record }) => sha256(prev_hash + canonical(record)).toString('hex');

/** A line's value; invalid JSON is a fault. */
const parsed = (text, where) => {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${where} is not JSON`);
  }
};

/**
 * Lines end with a line feed alone: texts may have other separators (U+2028), at which some releases of Node.js end a
 * line too.
 */
async function* linesOf(file) {
  let number = 0,
    rest = '';
  const value = (text) => {
    number += 1;
    return text.trim() === '' ? [] : [parsed(text, `${file}, line ${number}`)];
  };
  for await (const piece of createReadStream(file, 'utf8')) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop();
    for (const line of lines) yield* value(line);
  }
  yield* value(rest);
}

/** Checkpoints come after their records in an export: they are read first. */
async function read(file, folder) {
  const found = {
    chains: undefined,
    exportedAt: undefined,
    end: undefined,
    checkpoints: new Map(),
    missing: new Set(),
    records: 0,
    count: 0,
  };
  const add = (checkpoint) => {
    const of = found.checkpoints.get(checkpoint.chain) ?? new Map();
    of.set(checkpoint.signature, checkpoint);
    found.checkpoints.set(checkpoint.chain, of);
  };
  for await (const line of linesOf(file)) {
    if (line.audit_export !== undefined) [found.chains, found.exportedAt] = [line.chains, line.exported_at];
    else if (line.checkpoint) {
      found.count += 1;
      add(line.checkpoint);
      if (line.outside_only) found.missing.add(line.checkpoint.signature);
    } else if (line.record) found.records += 1;
    else if (line.end) found.end = line.end;
  }
  if (folder) {
    for (const name of readdirSync(folder).filter((one) => one.endsWith('.ndjson'))) {
      for await (const checkpoint of linesOf(join(folder, name))) {
        // A later checkpoint proves nothing about this export.
        if (
          found.checkpoints.get(checkpoint.chain)?.has(checkpoint.signature) ||
          checkpoint.created_at > found.exportedAt
        )
          continue;
        add(checkpoint);
        found.missing.add(checkpoint.signature);
      }
    }
  }
  return found;
}

async function verifyExport(file, keys, folder) {
  const { chains, exportedAt, end, checkpoints, missing, records, count } = await read(file, folder);
  if (!chains) throw new Error(`${file} is not an export of the audit log: its first line is missing`);
  console.log(`The log as of ${exportedAt}:`);
  const faults = [];
  if (!end || end.records !== records || end.checkpoints !== count)
    faults.push(
      'the export is not whole: ' +
        (end
          ? `it says ${end.records} records and ${end.checkpoints} checkpoints, it has ${records} and ${count}`
          : 'its last line is missing'),
    );
  const states = new Map();
  // With a separate folder, an export of one study is not compared with the folder's other chains.
  for (const { chain, rows } of chains)
    states.set(chain, begin(chain, rows, [...(checkpoints.get(chain)?.values() ?? [])], missing, keys));
  for await (const { record } of linesOf(file)) {
    if (!record) continue;
    const state = states.get(record.chain);
    if (state) take(state, record);
    else faults.push(`record ${record.chain}/${record.seq}: its chain is not of this export`);
  }
  for (const state of states.values()) {
    finish(state);
    if (state.fault) faults.push(`record ${state.chain}/${state.fault.seq}: ${state.fault.says}`);
    else console.log(`ok    ${state.chain}  ${state.tree.size} records, ${state.trusted.length} checkpoints`);
  }
  const signed = [...states.values()].reduce((sum, { trusted }) => sum + trusted.length, 0);
  if (signed === 0)
    console.log(
      'No checkpoint covers any of this: that a chain was rewritten whole, or cut short, would not be known.',
    );
  return faults;
}

function begin(chain, rows, checkpoints, missing, keys) {
  const state = {
    chain,
    rows,
    tree: new Tree(),
    head: GENESIS,
    trusted: [],
    at: 0,
    prefixes: undefined,
    fault: undefined,
    later: undefined,
  };
  for (const checkpoint of checkpoints.sort((a, b) => a.rows - b.rows)) {
    const before = state.trusted.at(-1);
    if (!isSigned(checkpoint, keys))
      state.later ??= {
        seq: checkpoint.rows,
        says: `the signature of the checkpoint of ${checkpoint.created_at} does not hold ${keyOf(checkpoint, keys)}`,
      };
    else {
      if (missing.has(checkpoint.signature))
        state.later ??= {
          seq: checkpoint.rows,
          says: `the checkpoint of ${checkpoint.created_at} is no more in the database`,
        };
      else if (checkpoint.previous !== (before ? sha256(signedText(before)).toString('hex') : null))
        state.later ??= {
          seq: checkpoint.previous_rows,
          says: `the checkpoint before that of ${checkpoint.created_at} is no more there`,
        };
      state.trusted.push(checkpoint);
    }
  }
  return state;
}

/** Verifies the next record of a chain. After the first fault the rest of the chain proves nothing. */
function take(state, record) {
  if (state.fault) return;
  const place = state.tree.size + 1;
  const fail = (says) => {
    state.fault = { seq: Math.min(place, record.seq), says };
  };
  if (record.seq !== place) return fail(`record ${place} is missing`);
  if (record.prev_hash !== state.head) return fail('it does not follow the record before it');
  if (record.hash !== recordHash(record)) return fail('its content is not what was sealed');
  while (state.trusted[state.at] && place > state.trusted[state.at].rows) {
    state.at += 1;
    state.prefixes = undefined;
  }
  const checkpoint = state.trusted[state.at];
  state.head = record.hash;
  state.tree.append(Buffer.from(record.hash, 'hex'));
  if (!checkpoint) return;
  const other = `it is not the record that the checkpoint of ${checkpoint.created_at} has signed`;
  state.prefixes ??= Buffer.from(checkpoint.witness, 'base64');
  const prefix = 8 * (place - checkpoint.previous_rows - 1);
  if (prefix >= 0 && state.prefixes.toString('hex', prefix, prefix + 8) !== record.hash.slice(0, 16))
    return fail(other);
  if (
    place === checkpoint.rows &&
    (record.hash !== checkpoint.head || state.tree.root().toString('hex') !== checkpoint.root)
  )
    return fail(other);
}

function finish(state) {
  if (state.fault) return;
  const { size } = state.tree;
  const last = state.trusted.at(-1);
  if (last && last.rows > size)
    state.fault = {
      seq: size + 1,
      says: `the chain ends at ${size}, the checkpoint of ${last.created_at} covers ${last.rows} records`,
    };
  else if (size !== state.rows)
    state.fault = { seq: size + 1, says: `the chain ends at ${size}, the export says ${state.rows}` };
  else state.fault = state.later;
}

function verifyProof(file, keys) {
  const proof = parsed(readFileSync(file, 'utf8'), file);
  const faults = [proof.checkpoint, proof.from]
    .filter((checkpoint) => checkpoint && !isSigned(checkpoint, keys))
    .map((one) => `${file}: the signature of the checkpoint of ${one.created_at} does not hold ${keyOf(one, keys)}`);
  if (proof.inclusion) {
    const { record, inclusion, checkpoint } = proof;
    const root = rootOfInclusion(inclusion, sha256(LEAF, Buffer.from(record.hash, 'hex')))?.toString('hex');
    const fits =
      record.chain === checkpoint.chain &&
      inclusion.leaf_index === record.seq - 1 &&
      inclusion.tree_size === checkpoint.rows;
    if (recordHash(record) !== record.hash || !fits || root !== checkpoint.root)
      faults.push(
        `record ${record.chain}/${record.seq}: ${file} does not prove that the checkpoint of ` +
          `${checkpoint.created_at} covers it`,
      );
    else
      console.log(
        `ok    record ${record.chain}/${record.seq} stands in the ${checkpoint.rows} records that were signed ` +
          `on ${checkpoint.created_at}`,
      );
  } else if (proof.consistency) {
    const { from, checkpoint, consistency } = proof;
    const fits =
      from.chain === checkpoint.chain &&
      consistency.first_size === from.rows &&
      consistency.second_size === checkpoint.rows;
    if (!fits || !isConsistent(consistency, from.root, checkpoint.root))
      faults.push(
        `${file} does not prove that the first ${from.rows} records of ${from.chain} are the same in both checkpoints`,
      );
    else
      console.log(
        `ok    the ${checkpoint.rows} records of ${checkpoint.chain} begin with the ${from.rows} that were ` +
          'signed before',
      );
  } else throw new Error(`${file} is not a proof`);
  return faults;
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      key: { type: 'string', multiple: true },
      checkpoints: { type: 'string' },
      proof: { type: 'string', multiple: true },
      help: { type: 'boolean' },
    },
  });
  const usage =
    'Usage: node audit-verify-export.mjs export.ndjson --key public.pem [--key older.pem] [--checkpoints ' +
    'folder] [--proof proof.json]';
  if (values.help) {
    console.log(usage);
    process.exit(0);
  }
  if (!values.key || (positionals.length === 0 && !values.proof)) throw new Error(usage);
  const missing = [
    ...positionals,
    ...values.key,
    ...(values.proof ?? []),
    ...(values.checkpoints ? [values.checkpoints] : []),
  ].filter((path) => !existsSync(path));
  if (missing.length > 0) throw new Error(`There is no ${missing.join(', no ')}.`);
  const keys = new Map(values.key.map((file) => createPublicKey(readFileSync(file))).map((key) => [keyIdOf(key), key]));
  const faults = [];
  for (const file of positionals) faults.push(...(await verifyExport(file, keys, values.checkpoints)));
  for (const file of values.proof ?? []) faults.push(...verifyProof(file, keys));
  for (const fault of faults) console.log(`FAULT ${fault}`);
  console.log(
    faults.length === 0 ? 'Everything holds.' : `${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}.`,
  );
  return faults.length === 0 ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (fault) {
  console.error(fault.message);
  process.exitCode = 2;
}

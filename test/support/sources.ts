import { readdirSync } from 'node:fs';
import { root } from './environment.js';

const LEFT_OUT = new Set(['node_modules', 'dist', 'coverage', '__pycache__']);

/** Every file of the checkout that a person wrote or committed, by its path; no history is needed for it. */
export function checkoutFiles(folder = ''): string[] {
  return readdirSync(`${root}/${folder}`, { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (LEFT_OUT.has(entry.name) || (entry.name.startsWith('.') && entry.isDirectory())) return [];
    return entry.isDirectory() ? checkoutFiles(path) : entry.isFile() ? [path] : [];
  });
}

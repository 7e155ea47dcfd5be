import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { root } from '../support/environment.js';

type NodeRefusal = (version: string, engines: string) => string | undefined;

const text = (path: string) => readFileSync(join(root, path), 'utf8');
const { engines } = JSON.parse(text('package.json')) as { engines: { node: string } };

describe('the version of Node', () => {
  let nodeRefusal: NodeRefusal;
  before(async () => {
    const path = pathToFileURL(join(root, 'scripts', 'prepare.mjs')).href;
    ({ nodeRefusal } = (await import(path)) as { nodeRefusal: NodeRefusal });
  });

  for (const version of ['20.19.0', '20.20.2', '22.13.0', '22.21.1', '24.0.0', '24.21.0'])
    it(`may be ${version}`, () => expect(nodeRefusal(version, engines.node)).to.equal(undefined));

  for (const version of ['18.20.8', '20.18.3', '21.7.3', '22.12.0', '23.11.1', '25.0.0'])
    it(`is refused when it is ${version}, in one sentence that names the supported ones`, () =>
      expect(nodeRefusal(version, engines.node)).to.equal(
        `Node.js 20 (20.19 or newer), 22 (22.13 or newer) or 24 is needed; this is ${version}`,
      ));

  it('is the same in .nvmrc and in both stages of the image, and one that is supported', () => {
    const version = text('.nvmrc').trim();
    expect(nodeRefusal(version, engines.node)).to.equal(undefined);
    const images = [...text('Dockerfile').matchAll(/^FROM node:([\d.]+)-/gm)].map(([, image]) => image);
    expect(images).to.deep.equal([version, version]);
  });

  it('is the same in package.json and package-lock.json', () => {
    const lock = JSON.parse(text('package-lock.json')) as { packages: Record<string, { engines?: { node: string } }> };
    expect(lock.packages['']?.engines?.node).to.equal(engines.node);
  });
});

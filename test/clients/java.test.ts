import { existsSync } from 'node:fs';
import { mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { root } from '../support/environment.js';
import { TEN_STEPS, built, contractIn, input, output, sizeOf } from './stage.js';

const GENERATOR = '7.17.0';
const TOOLS = join(root, '.cache', 'clients', 'tools');
const JAR_NAME = `openapi-generator-cli-${GENERATOR}.jar`;
const JAR = join(TOOLS, JAR_NAME);
const SETTINGS =
  'hideGenerationTimestamp=true,openApiNullable=false,useJakartaEe=true,enumUnknownDefaultCase=true,useOneOfDiscriminatorLookup=true';
const PARTS = 'apis,models,supportingFiles,apiTests=false,modelTests=false,apiDocs=false,modelDocs=false';

/** A program of a few seconds: it ends before better compiled code or a second collector would pay. */
const BRIEF = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xshare:auto'];
const maven = { MAVEN_OPTS: BRIEF.join(' ') };

const hasJava = (): Promise<boolean> =>
  output('javac', ['-version'])
    .then(() => output('mvn', ['-version'], { env: maven }))
    .then(
      (said) => Number(/Java version: (\d+)/.exec(said)?.[1]) >= 17,
      () => false,
    );

describe('A client in Java, generated from the contract in OpenAPI 3.0 by openapi-generator', function () {
  this.timeout(600_000);

  it('compiles and goes through the ten steps', async function () {
    if (!(await hasJava())) return this.skip();
    const folder = await built('java', GENERATOR + SETTINGS, async (at) => {
      const contract = await contractIn(at, '3.0');
      // Each start of Maven takes seconds: what is missing is fetched by one.
      const fetched = existsSync(JAR)
        ? []
        : ['dependency:copy', `-Dartifact=org.openapitools:openapi-generator-cli:${GENERATOR}`];
      await output(
        'mvn',
        ['-q', '-f', 'pom.xml', 'dependency:copy-dependencies', ...fetched, '-DoutputDirectory=lib'],
        { cwd: at, env: maven },
      );
      if (!existsSync(JAR)) {
        await mkdir(TOOLS, { recursive: true });
        await rename(join(at, 'lib', JAR_NAME), JAR);
      }
      const generate = ['generate', '-i', contract, '-g', 'java', '--library', 'native', '-o', 'made'];
      const options = [`--additional-properties=${SETTINGS}`, '--global-property', PARTS];
      await output('java', [...BRIEF, '-jar', JAR, ...generate, ...options], { cwd: at });
      const sources = (await readdir(join(at, 'made', 'src', 'main', 'java'), { recursive: true }))
        .filter((name) => name.endsWith('.java'))
        .map((name) => join('made', 'src', 'main', 'java', name));
      const compile = [
        ...BRIEF.map((option) => `-J${option}`),
        '-nowarn',
        '-proc:none',
        '-cp',
        'lib/*',
        '-d',
        'classes',
        'QuickStart.java',
      ];
      await output('javac', [...compile, ...sources], { cwd: at });
    });
    const said = await output('java', [...BRIEF, '-cp', 'classes:lib/*', 'QuickStart', await input()], { cwd: folder });
    expect(JSON.parse(said)).to.deep.equal(TEN_STEPS);
    expect((await sizeOf(join(folder, 'made'), '.java')).files).to.be.lessThan(700);
  });
});

/** Checks docker-compose.yml against the schema of compose files and dclint's rules; errors and warnings both fail. */
import { DCLinter } from 'dclint';
import { refuseUnknownArguments } from './runtime/program.js';

/** As dclint gives it; its own types do not resolve under NodeNext. */
interface LintResult {
  errorCount: number;
  warningCount: number;
}

// The last of several commands of `npm run lint`: it gets what was meant for all of them.
refuseUnknownArguments('npm run lint (npm run format and npx eslint --fix mend what can be mended)');
const FILE = 'docker-compose.yml';
const linter = new DCLinter({
  rules: {
    // Grouping related services reads better here than the alphabet.
    'services-alphabetical-order': 0,
    'service-keys-order': 0,
    'service-dependencies-alphabetical-order': 0,
    // Public ports are intended; all others are bound to loopback.
    'no-unbound-port-interfaces': 2,
    'require-quotes-in-ports': 2,
    'service-image-require-explicit-tag': 2,
    'no-duplicate-container-names': 2,
    'no-duplicate-exported-ports': 2,
    'no-version-field': 2,
    // Our own image is built here and also named.
    'no-build-and-image': 0,
    'require-project-name-field': 2,
  },
  quiet: false,
  debug: false,
  exclude: [],
});
const results: LintResult[] = linter.lintFiles([FILE], false);
const found = results.reduce((sum, { errorCount, warningCount }) => sum + errorCount + warningCount, 0);
if (results.length === 0 || found > 0) {
  console.error(results.length === 0 ? `${FILE} was not found` : await linter.formatResults(results, 'stylish'));
  process.exitCode = 1;
} else {
  console.log(`${FILE}: no faults`);
}

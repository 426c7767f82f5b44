// Asks Stryker's instrumenter for its mutants. No setting and no comment of the tree has a say, and nothing of the tree
// is loaded: babel would run a babel.config.js that it finds, so sources are named as if they lay in this folder.
// Words: `own` where the project's node_modules may be asked first.
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const PACKAGE = '@stryker-mutator/instrumenter';
const folder = process.env.DAMASCUS_TOOL;
const asked = JSON.parse(readFileSync(join(folder, 'request.json'), 'utf8'));

function* places() {
  if (process.argv.includes('own')) yield join(asked.root, 'package.json');
  for (const entry of (process.env.PATH ?? '').split(delimiter)) {
    if (existsSync(join(entry, 'stryker'))) yield realpathSync(join(entry, 'stryker'));
  }
}

function found() {
  for (const place of places()) {
    const near = createRequire(place);
    for (const from of [near, onwards(near)]) {
      try {
        const main = from.resolve(PACKAGE);
        return [main, JSON.parse(readFileSync(from.resolve(`${PACKAGE}/package.json`), 'utf8')).version];
      } catch {
        continue;
      }
    }
  }
  console.error(`${PACKAGE} is not installed`);
  process.exit(127);
}

// pnpm shows a package its own dependencies only, and this one is Stryker's.
function onwards(near) {
  try {
    return createRequire(realpathSync(near.resolve('@stryker-mutator/core/package.json')));
  } catch {
    return near;
  }
}

const [main, version] = found();
const texts = Object.keys(asked.lines).map((path) => [path, readFileSync(join(asked.root, path), 'utf8')]);
process.chdir(folder);
const { Instrumenter } = await import(pathToFileURL(main));
const silent = new Proxy({}, { get: (_, name) => (String(name).startsWith('is') ? () => false : () => {}) });
const options = { plugins: null, excludedMutations: [], ignorers: [] };
const told = [];
for (const [number, [path, content]] of texts.entries()) {
  const name = join(folder, `source${number}${extname(path)}`);
  const made = await new Instrumenter(silent).instrument([{ name, mutate: true, content }], options);
  const lines = content.split('\n');
  const starts = [0];
  for (const line of lines) starts.push(starts.at(-1) + Buffer.byteLength(line) + 1);
  const at = ({ line, column }) => starts[line] + Buffer.byteLength(lines[line].slice(0, column));
  for (const { location, mutatorName, replacement } of made.mutants) {
    told.push({ path, start: at(location.start), end: at(location.end), text: replacement, operator: mutatorName });
  }
}
writeFileSync(join(folder, 'report.json'), JSON.stringify({ version, mutants: told }));

// Inside the sandbox: loads the project's own Zod schemas and says which samples they take.
//   node zod.mjs   with DAMASCUS_ZOD, the folder that has ask.json and gets answers.json
import { createRequire } from "node:module";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const folder = process.env.DAMASCUS_ZOD;
const asked = JSON.parse(readFileSync(path.join(folder, "ask.json"), "utf8"));
const project = createRequire(path.join(process.cwd(), "package.json"));

function known(name) {
  try {
    return project(name);
  } catch {
    return null;
  }
}

async function load(file) {
  const whole = path.resolve(file);
  if (!/\.[cm]?tsx?$/.test(file) || process.features.typescript) return import(pathToFileURL(whole));
  const made = path.join(path.dirname(whole), `.damascus-zod-${process.pid}.mjs`);
  const esbuild = known("esbuild");
  const typescript = known("typescript");
  try {
    if (esbuild) {
      const options = { bundle: true, platform: "node", format: "esm", packages: "external", logLevel: "silent" };
      esbuild.buildSync({ ...options, entryPoints: [whole], outfile: made });
    } else if (typescript?.transpileModule) {
      const compilerOptions = { module: "esnext", target: "es2022" };
      writeFileSync(made, typescript.transpileModule(readFileSync(whole, "utf8"), { compilerOptions }).outputText);
    } else {
      throw new Error("this Node reads no TypeScript, and the project has neither esbuild nor typescript");
    }
    return await import(pathToFileURL(made));
  } finally {
    rmSync(made, { force: true });
  }
}

async function refused(schema, text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `it is not valid JSON: ${error.message}`;
  }
  const done = (await schema.safeParseAsync?.(value)) ?? schema.safeParse(value);
  return done.success === true ? "" : String(done.error?.message || "refused").replace(/\s+/g, " ").slice(0, 300);
}

const answers = {};
for (const file of asked.files) {
  try {
    const exported = Object.entries(await load(file)).filter(([, one]) => typeof one?.safeParse === "function");
    const found = {};
    for (const [name, schema] of exported) {
      found[name] = {};
      for (const [sample, text] of Object.entries(asked.samples[name] ?? {})) {
        found[name][sample] = await refused(schema, text);
      }
    }
    answers[file] = { exported: found };
  } catch (error) {
    answers[file] = { unread: String(error?.message ?? error).slice(0, 300) };
  }
}
writeFileSync(path.join(folder, "answers.json"), JSON.stringify(answers));
process.exit(0);

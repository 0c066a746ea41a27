// The package holds the browser, its libraries and a font in brotli; unpack them beside it.
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { brotliDecompressSync } from "node:zlib";

const packed = new URL("node_modules/@sparticuz/chromium/bin/", import.meta.url).pathname;
const target = new URL("node_modules/browser/", import.meta.url).pathname;
mkdirSync(target, { recursive: true });
const unpacked = (name) => brotliDecompressSync(readFileSync(packed + name));
for (const name of ["al2023.tar.br", "fonts.tar.br"]) {
  execFileSync("tar", ["-x", "-C", target], { input: unpacked(name) });
}
writeFileSync(
  `${target}fonts.conf`,
  `<fontconfig><dir>${target}fonts</dir><cachedir>${target}cache</cachedir></fontconfig>\n`,
);
// The last one, and whole: what starts it takes it for the sign that all is there
writeFileSync(`${target}part`, unpacked("chromium.br"));
chmodSync(`${target}part`, 0o755);
renameSync(`${target}part`, `${target}chromium`);

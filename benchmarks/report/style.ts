/** The style of the report: system fonts, light and dark by the reader's setting, and a colour for each side and part of the system. */
export const style = `
:root { color-scheme: light dark; --back: #fff; --text: #1b1f24; --soft: #59636e; --line: #d8dee4; --card: #f6f8fa;
  --ours: #2563c9; --theirs: #c2571a; --floor: #8b949e; --plain-postgres: #2a8c82; --met: #1a7f37; --missed: #cf222e;
  --api: #2563c9; --worker: #8250df; --supervisor: #bf3989; --redis: #d1442f; --postgres: #2a8c82; --load: #9aa4af; }
@media (prefers-color-scheme: dark) { :root { --back: #0d1117; --text: #e6edf3; --soft: #9aa4af; --line: #30363d; --card: #161b22;
  --ours: #5b9bff; --theirs: #f0883e; --floor: #7d8590; --plain-postgres: #4cc2b4; --met: #3fb950; --missed: #ff6b63;
  --api: #5b9bff; --worker: #b48cff; --supervisor: #f778ba; --redis: #ff7b66; --postgres: #4cc2b4; --load: #6e7681; } }
body { margin: 0 auto; max-width: 1040px; padding: 24px 20px 80px; background: var(--back); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 20px; margin: 48px 0 2px; } h3 { font-size: 15px; margin: 22px 0 6px; }
p { margin: 0 0 10px; color: var(--soft); }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 14px 5px 0; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
th:first-child, td:first-child { text-align: left; } th { color: var(--soft); font-weight: 600; }
code { white-space: nowrap; } .met { color: var(--met); font-weight: 600; } .missed { color: var(--missed); font-weight: 600; }
.wide { overflow-x: auto; } nav a { margin-right: 14px; } a { color: var(--ours); text-decoration: none; }
details { margin-top: 12px; } summary { cursor: pointer; color: var(--soft); }
dl { display: grid; grid-template-columns: max-content 1fr 1fr; gap: 2px 18px; margin: 14px 0 0; font-size: 14px; }
dt { color: var(--soft); } dd { margin: 0; }
svg { width: 100%; height: auto; display: block; font-size: 13px; }
svg text { fill: var(--text); } svg .axis { fill: var(--soft); font-size: 12px; } svg .label { dominant-baseline: central; }
svg .grid { stroke: var(--line); } svg .range { stroke: var(--text); fill: none; stroke-width: 1.2; opacity: 0.75; }
svg .earlier rect { opacity: 0.45; } svg .earlier text { fill: var(--soft); font-size: 11px; }
.legend { font-size: 13px; color: var(--soft); margin: 0 0 4px; } .legend span { margin-right: 16px; white-space: nowrap; }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 5px; }
${['ours', 'theirs', 'floor', 'plain-postgres', 'api', 'worker', 'supervisor', 'redis', 'postgres', 'load']
  .map((name) => `svg .${name} { fill: var(--${name}); } i.${name} { background: var(--${name}); }`)
  .join('\n')}
`;

// Watches a match:  node spectator.mjs m_…   (Node 20 or newer; `events` works in a browser as it stands.)
const server = process.env.MACAO_SERVER ?? "http://127.0.0.1:8000";
const match = process.argv[2];
let lastId; // the version of the last event: where to go on after a lost connection

async function* events() {
  const headers = lastId ? { "Last-Event-ID": lastId } : {};
  const answer = await fetch(`${server}/v1/matches/${match}/stream`, { headers });
  if (answer.status === 404) return yield { event: "nothing", data: (await answer.json()).detail };
  let text = "";
  for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (text += chunk).split("\n\n"); // an empty line ends an event
    text = blocks.pop();
    for (const block of blocks) yield Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s)));
  }
}

for (let over = false; !over; ) {
  try {
    for await (const { event, id, data } of events()) {
      if (event && event !== "keep-alive") console.log(id ?? "", event, data);
      lastId = id ?? lastId;
      over = /^(seed-revealed|nothing)$/.test(event) || (event === "snapshot" && JSON.parse(data).status !== "running");
      if (over) break;
    }
  } catch {} // cut off: from the last event on, once more
  if (!over) await new Promise((resolve) => setTimeout(resolve, 1000));
}

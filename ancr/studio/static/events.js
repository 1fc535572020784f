// One event stream for all tabs of this browser: a shared worker listens and tells every tab. Browsers keep six
// connections to a server, so that a stream for each tab would leave none for the seventh.
const ports = new Set();
let source = null, lost = false;

function tell(message) { for (const port of ports) port.postMessage(message); }

function listen() {
  source = new EventSource("/api/events");
  source.onmessage = (event) => tell({ news: JSON.parse(event.data) });
  source.onopen = () => { lost = false; tell({ lost }); };
  source.onerror = () => {
    lost = source.readyState === EventSource.CLOSED ? "closed" : "silent";
    tell({ lost });
    if (lost === "closed") { source = null; setTimeout(() => { if (ports.size && !source) listen(); }, 3000); }
  };
}

self.onconnect = (event) => {
  const port = event.ports[0];
  ports.add(port);
  port.onmessage = (message) => { if (message.data === "leave") ports.delete(port); };
  port.start();
  if (!source) listen();
  else port.postMessage({ lost });
};

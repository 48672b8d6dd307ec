// npm's tracker without its command line, which needs WebRTC: node tracker.js PORT
import Server from 'bittorrent-tracker/server';

const server = new Server({ ws: false, stats: false });
server.on('error', (error) => {
  console.error(error);
  process.exit(1);
});
server.on('warning', (warning) => console.log('warning', warning.message));
for (const event of ['start', 'update', 'complete', 'stop']) {
  server.on(event, (address) => console.log(event, address));
}
// HTTP and UDP in both families.
server.on('listening', () => console.log('listening'));
server.listen(Number(process.argv[2]));

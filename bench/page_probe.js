// Counts frames, long tasks, and how long after a key the next frame was painted.
window.probe = (() => {
  const began = performance.now();
  let frames = 0;
  let long = 0;
  let running = true;
  const keys = [];
  const tick = () => {
    frames += 1;
    if (running) requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
  const tasks = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) long += entry.duration;
  });
  tasks.observe({ type: "longtask" });
  addEventListener(
    "keydown",
    (event) => {
      const pressed = event.timeStamp;
      requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => keys.push(performance.now() - pressed);
        channel.port2.postMessage(null);
      });
    },
    true,
  );
  return {
    stop() {
      running = false;
      tasks.disconnect();
      return { frames, long, keys, seconds: (performance.now() - began) / 1000 };
    },
  };
})();

// Counts frames, adds up the duration of long tasks, and measures the time from a key event to the next frame.
window.probe = (() => {
  const startTime = performance.now();
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
      return { frames, long, keys, seconds: (performance.now() - startTime) / 1000 };
    },
  };
})();

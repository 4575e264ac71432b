// Browsers refuse to load the script of a worker from a file: in pages opened from a file, its text is given instead.
if (location.protocol === "file:") {
  const FileWorker = window.Worker;
  window.Worker = class extends FileWorker {
    constructor() {
      super(URL.createObjectURL(new Blob([WORKER_SOURCE], { type: "text/javascript" })));
    }
  };
}

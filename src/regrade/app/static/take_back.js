// Tasks that a worker returned, shown again.

import { call, showFailure } from "./sending.js";

const button = document.getElementById("take-back");
button.addEventListener("click", async () => {
  try {
    await call(`/api/queues/${button.dataset.queue}/take-back`, {});
    location.reload();
  } catch (error) {
    showFailure(error);
  }
});

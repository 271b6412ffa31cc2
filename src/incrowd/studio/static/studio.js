"use strict";

// Uploads, live numbers and progress. Pages work without it as far as links and forms go.

const words = {tasks: "trying methods", waiting: "waiting for another run"};

function upload() {
  const form = document.getElementById("upload");
  if (!form) return;
  const input = form.querySelector("input[type=file]");
  const status = form.querySelector("[data-status]");
  const box = form.querySelector("[data-error]");

  async function send(file) {
    box.hidden = true;
    status.textContent = `Reading ${file.name} …`;
    let answer = null;
    try {
      const response = await fetch("/upload", {
        method: "POST",
        headers: {"X-File-Name": encodeURIComponent(file.name), "Content-Type": "application/octet-stream"},
        body: file,
      });
      const isJson = (response.headers.get("content-type") || "").startsWith("application/json");
      answer = isJson ? await response.json() : {fact: await response.text()};
    } catch {
      answer = {fact: "The studio does not answer", hint: "look at the terminal where it was started"};
    }
    if (answer.page) {
      window.location.assign(answer.page);
      return;
    }
    status.textContent = "";
    box.querySelector(".fact").textContent = answer.fact;
    box.querySelector(".hint").textContent = answer.hint ? `Next step: ${answer.hint}` : "";
    box.hidden = false;
    input.value = "";
  }

  input.addEventListener("change", () => input.files.length && send(input.files[0]));
  if (input.files.length) send(input.files[0]); // chosen before this script was there
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const name of ["dragover", "dragleave", "drop"]) {
    form.addEventListener(name, (event) => {
      event.preventDefault();
      form.classList.toggle("over", name === "dragover");
    });
  }
  form.addEventListener("drop", (event) => event.dataTransfer.files.length && send(event.dataTransfer.files[0]));
}

function roles() {
  const form = document.getElementById("roles");
  if (!form) return;
  const live = document.getElementById("live");
  let latest = 0;
  form.addEventListener("change", async (event) => {
    if (event.target.matches("[data-role-of]")) event.target.closest("tr").dataset.role = event.target.value;
    const mine = ++latest;
    const response = await fetch(form.action, {
      method: "POST",
      headers: {"X-Studio": "live"},
      body: new URLSearchParams(new FormData(form)),
    });
    const text = await response.text();
    if (mine !== latest || !response.ok) return;
    const focused = document.activeElement && document.activeElement.id;
    live.innerHTML = text; // our own page, in which everything is escaped
    document.getElementById("said").textContent = live.querySelector("[data-summary]").textContent;
    if (focused === "target") document.getElementById("target").focus();
  });
}

function watch() {
  for (const box of document.querySelectorAll("[data-job]")) {
    const bar = box.querySelector("progress");
    const stage = box.querySelector("[data-stage]");
    const seconds = box.querySelector("[data-seconds]");
    const source = new EventSource(box.dataset.job);
    source.addEventListener("message", (event) => {
      const seen = JSON.parse(event.data);
      if (seen.state !== "waiting" && seen.state !== "running") {
        source.close();
        refresh();
        return;
      }
      const said = words[seen.stage] || seen.stage;
      if (stage.textContent !== said) stage.textContent = said;
      seconds.textContent = `${seen.seconds} s`;
      if (seen.done < seen.total) bar.value = (100 * seen.done) / seen.total;
      else bar.removeAttribute("value");
    });
  }
}

// Show the page as it is now, in place, and lead a screen reader to what is new.
async function refresh() {
  const response = await fetch(window.location.href);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  document.querySelector("main").replaceWith(page.querySelector("main"));
  document.title = page.title;
  begin();
  const heading = document.querySelector("[data-focus], [role=alert]");
  if (heading) {
    heading.setAttribute("tabindex", "-1");
    heading.focus({preventScroll: true});
  }
}

function copying() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = "Copied";
    });
  }
}

function begin() {
  upload();
  roles();
  watch();
  copying();
}

begin();

"use strict";

// Uploads, live numbers and progress. Pages work without it as far as links and forms go.

const words = {tasks: "trying methods", waiting: "waiting for another run"};

function uploads() {
  for (const form of document.querySelectorAll("[data-upload]")) upload(form);
}

function upload(form) {
  const input = form.querySelector("input[type=file]");
  const status = form.querySelector("[data-status]");
  const box = form.querySelector("[data-error]");
  const again = form.querySelector("[data-again]");
  let latest = null;

  async function send(file) {
    latest = file;
    box.hidden = true;
    status.textContent = `Reading ${file.name} …`;
    const fields = [...form.querySelectorAll("[data-how] input")].filter((field) => field.value.trim());
    const how = new URLSearchParams(fields.map((field) => [field.name, field.value]));
    let answer = null;
    try {
      const response = await fetch(form.dataset.upload + (fields.length ? `?${how}` : ""), {
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
    if (again) {
      form.querySelector("[data-how]").open = true;
      again.disabled = false;
    }
  }

  if (again) again.addEventListener("click", () => send(latest));

  input.addEventListener("change", () => input.files.length && send(input.files[0]));
  if (input.files.length) send(input.files[0]); // chosen before this script was there
  form.addEventListener("submit", (event) => event.preventDefault());
  dropping(form, (event) => event.dataTransfer.files.length && send(event.dataTransfer.files[0]));
}

// Let things be dropped on an element; it is marked while they hover over it.
function dropping(place, dropped) {
  let inside = 0;
  const mark = (change) => {
    inside = Math.max(0, inside + change);
    place.classList.toggle("over", inside > 0);
  };
  place.addEventListener("dragover", (event) => event.preventDefault());
  place.addEventListener("dragenter", (event) => (event.preventDefault(), event.stopPropagation(), mark(1)));
  place.addEventListener("dragleave", (event) => (event.stopPropagation(), mark(-1)));
  place.addEventListener("drop", (event) => {
    event.preventDefault();
    event.stopPropagation();
    inside = 0;
    mark(0);
    dropped(event);
  });
}

// Ask the server what follows from a form, and hand the answer on; an answer that is overtaken is thrown away.
function asking(form, address, show) {
  let latest = 0;
  return async (more = {}) => {
    const mine = ++latest;
    const fields = new URLSearchParams(new FormData(form));
    for (const [name, values] of Object.entries(more)) {
      fields.delete(name);
      for (const value of [values].flat()) fields.append(name, value);
    }
    const response = await fetch(address, {method: "POST", headers: {"X-Studio": "live"}, body: fields});
    const text = await response.text();
    if (mine === latest) show(text, response.ok, more);
  };
}

function roles() {
  const form = document.getElementById("roles");
  if (!form) return;
  const live = document.getElementById("live");
  const said = document.getElementById("said");
  let counting = 0;

  function show(text, isFine) {
    if (!isFine) return;
    const focused = document.activeElement && document.activeElement.id;
    live.innerHTML = text; // our own page, in which everything is escaped
    said.textContent = live.querySelector("[data-summary]").textContent;
    if (focused === "target") document.getElementById("target").focus();
    count();
  }

  // What takes longer to count comes after the rest; an answer that is overtaken is thrown away.
  async function count() {
    const mine = ++counting;
    if (!live.querySelector("[data-later]")) return;
    const response = await fetch(form.dataset.live);
    const text = await response.text();
    if (mine === counting) show(text, response.ok);
  }

  // Only what was changed here is sent: another tab may have changed the rest.
  const changed = new Set();
  form.addEventListener("formdata", (event) => {
    for (const name of [...event.formData.keys()]) if (!changed.has(name)) event.formData.delete(name);
  });
  const ask = asking(form, form.action, show);
  const boards = document.querySelectorAll(".board");
  form.addEventListener("change", (event) => {
    const select = event.target;
    changed.add(select.name);
    if (select.matches("[data-role-of]")) {
      changed.add(`kind-${select.id.slice(5)}`);
      select.closest("tr").dataset.role = select.value;
      const column = document.querySelector(`.board li[data-number="${select.id.slice(5)}"]`);
      document.querySelector(`.board[data-role="${select.value}"] ul`).append(column);
    }
    ask();
  });
  for (const board of boards) {
    dropping(board, (event) => {
      const select = document.getElementById(`role-${event.dataTransfer.getData("text/plain")}`);
      if (!select || select.value === board.dataset.role) return;
      select.value = board.dataset.role;
      select.dispatchEvent(new Event("change", {bubbles: true}));
    });
  }
  for (const column of document.querySelectorAll(".board li")) {
    column.addEventListener("dragstart", (event) => event.dataTransfer.setData("text/plain", column.dataset.number));
  }
  count();
}

function builder() {
  const form = document.getElementById("builder");
  if (!form) return;
  const place = document.getElementById("preview");
  let timer = 0;

  // All is new but what somebody is doing: the field in which they write, what they ticked, and where they are.
  function show(text, isFine, more) {
    const next = new DOMParser().parseFromString(`<div>${text}</div>`, "text/html").body.firstChild;
    if (!isFine) {
      place.querySelector("[role=status]").replaceWith(next.querySelector("[role=alert]"));
      return;
    }
    if (more.do !== "move") {
      for (const box of place.querySelectorAll("input[name=name]:checked")) {
        const twin = next.querySelector(`input[name=name][value="${CSS.escape(box.value)}"]`);
        if (twin) twin.checked = true;
      }
      for (const id of ["new", "to"]) {
        const [field, twin] = [document.getElementById(id), next.querySelector(`#${id}`)];
        if (field && twin) twin.value = field.value;
      }
    }
    const active = place.contains(document.activeElement) ? document.activeElement : null;
    const id = active && (active.id ? `#${active.id}` : active.name === "name" ? `input[name=name][value="${CSS.escape(active.value)}"]` : null);
    let twin = id && next.querySelector(id);
    const [from, to] = active ? [active.selectionStart, active.selectionEnd] : [0, 0];
    if (twin && active.tagName === "TEXTAREA") {
      twin.replaceWith(active);
      twin = active;
    }
    place.replaceChildren(...next.childNodes);
    if (twin) {
      twin.focus({preventScroll: true});
      if (typeof from === "number") twin.setSelectionRange(from, to);
    }
    draggable();
  }

  const ask = asking(form, form.action, show);
  const own = () => (form.querySelector("input[name=kind][value=own]").checked = true);
  form.addEventListener("input", (event) => {
    if (["new", "to", "name"].includes(event.target.name) || event.target.type === "file") return;
    if (["text", "form"].includes(event.target.name)) own();
    clearTimeout(timer);
    timer = setTimeout(ask, event.target.matches("textarea, input:not([type=radio])") ? 300 : 0);
  });
  form.addEventListener("change", async (event) => {
    if (event.target.type !== "file" || !event.target.files.length) return;
    const bytes = await event.target.files[0].arrayBuffer();
    let text;
    try {
      text = new TextDecoder("utf-8", {fatal: true}).decode(bytes);
    } catch {
      text = new TextDecoder("windows-1252").decode(bytes);
    }
    document.getElementById("text").value = text;
    document.getElementById("form").value = "taxonomy";
    own();
    ask();
  });
  form.addEventListener("submit", (event) => {
    if (!event.submitter || event.submitter.value !== "move") return;
    event.preventDefault();
    const isMove = event.submitter === document.activeElement || document.activeElement.closest(".moving");
    if (isMove) own();
    ask(isMove ? {do: "move"} : {});
  });

  function draggable() {
    for (const each of place.querySelectorAll("[data-name]")) {
      each.addEventListener("dragstart", (event) => {
        event.stopPropagation();
        event.dataTransfer.setData("text/plain", each.dataset.name);
      });
    }
    for (const group of place.querySelectorAll("[data-group]")) {
      dropping(group, (event) => {
        const ticked = [...place.querySelectorAll("input[name=name]:checked")].map((box) => box.value);
        const name = event.dataTransfer.getData("text/plain");
        if (!name || name === group.dataset.group) return;
        own();
        ask({do: "move", new: "", to: group.dataset.group, name: ticked.includes(name) ? ticked : [name]});
      });
    }
  }

  // The picture of a large table comes after the rest, unless somebody was quicker.
  async function draw(address) {
    const response = await fetch(address);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (!response.ok || !place.querySelector("[data-later]")) return;
    for (const id of ["preview", "saving"]) {
      document.getElementById(id).replaceChildren(...page.getElementById(id).childNodes);
    }
    draggable();
  }

  const later = place.querySelector("[data-later]");
  if (later) draw(later.dataset.later);
  draggable();
}

// Say that something takes a while, where the answer is a new page.
function busy() {
  for (const form of document.querySelectorAll("[data-busy]")) {
    form.addEventListener("submit", () => {
      const button = form.querySelector("button:not([type=button])");
      button.disabled = true;
      button.textContent = `${form.dataset.busy} …`;
    });
  }
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
  if (response.redirected) {
    window.location.assign(response.url);
    return;
  }
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
  uploads();
  roles();
  builder();
  busy();
  watch();
  copying();
}

begin();

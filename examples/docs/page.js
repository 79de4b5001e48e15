'use strict';
const box = document.getElementById('search'), found = document.getElementById('found');
const root = document.documentElement;

// What can be found: names with their contracts and declarations, and the manual's headings.
const entries = [];
for (const item of document.querySelectorAll('[data-name]')) {
    const parts = item.matches('span') ? [item.parentNode.nextElementSibling]
        : [...item.querySelectorAll(':scope > p'), ...item.querySelectorAll(':scope > dl, :scope > pre')];
    entries.push({ name: item.dataset.name, id: item.id, text: parts.map(part => part.textContent.trim()).join(' ') });
}
for (const head of document.querySelectorAll('main h2[id], main > h3[id]')) {
    let text = '';
    for (let next = head.nextElementSibling; next && !/^H[123]|SECTION/.test(next.tagName); next = next.nextElementSibling)
        text += ' ' + next.textContent;
    entries.push({ name: head.textContent, id: head.id, text: text.trim() });
}
for (const entry of entries) {
    entry.low = entry.name.toLowerCase();
    entry.lowText = entry.text.toLowerCase();
    entry.words = (synonyms[entry.id] || '').split(' ');
}

// Better is smaller; null: not all of the words are there. `entry.words` are other names for the same thing, the best first.
function rank(entry, words) {
    let sum = 0;
    for (const word of words) {
        const at = entry.low.indexOf(word);
        if (entry.low === word || entry.low === 'wsq_' + word) sum += 0;
        else if (entry.words.includes(word)) sum += 0.5 + Math.min(entry.words.indexOf(word), 4) / 10;
        else if (at === 0 || (at === 4 && entry.low.startsWith('wsq_'))) sum += 1;
        else if (at > 0) sum += 2;
        else if (word.length > 2 && entry.words.some(known => known.startsWith(word))) sum += 3;
        else if (entry.lowText.includes(word)) sum += 10;
        else return null;
    }
    return sum + entry.low.length / 1000;
}

// A piece of the text around the first word that is in it.
function excerpt(entry, words) {
    const at = Math.max(0, ...words.map(word => entry.lowText.indexOf(word)));
    const start = at > 60 ? entry.text.indexOf(' ', at - 50) : 0;
    return (start > 0 ? '… ' : '') + entry.text.slice(start, start + 140);
}

function show() {
    const all = box.value.toLowerCase().split(/[\s,()?]+/).filter(Boolean);
    const telling = all.filter(word => !/^(a|an|the|my|i|do|how|of|for|to|in|is|with|many|from|it)$/.test(word));
    const words = telling.length > 0 ? telling : all;
    found.hidden = words.length === 0;
    found.replaceChildren();
    if (words.length === 0) return;
    const hits = entries.map(entry => ({ entry, rank: rank(entry, words) }))
        .filter(hit => hit.rank !== null).sort((a, b) => a.rank - b.rank).slice(0, 30);
    for (const { entry } of hits) {
        const link = document.createElement('a'), name = document.createElement('b');
        const text = document.createElement('span');
        link.href = '#' + entry.id;
        name.textContent = entry.name;
        text.textContent = excerpt(entry, words);
        link.append(name, text);
        found.append(link);
    }
    if (hits.length === 0) {
        const none = document.createElement('p');
        none.textContent = 'Nothing has all of these words.';
        found.append(none);
    } else found.firstChild.classList.add('at');
}

function move(step) {
    const links = [...found.querySelectorAll('a')];
    const at = links.findIndex(link => link.classList.contains('at'));
    if (links.length === 0) return;
    links[at].classList.remove('at');
    const next = links[(at + step + links.length) % links.length];
    next.classList.add('at');
    next.scrollIntoView({ block: 'nearest' });
}

function leave() {
    found.hidden = true;
    box.blur();
}

box.addEventListener('input', show);
box.addEventListener('focus', show);
box.addEventListener('keydown', event => {
    if (event.key === 'ArrowDown') move(1);
    else if (event.key === 'ArrowUp') move(-1);
    else if (event.key === 'Escape') leave();
    else if (event.key === 'Enter') {
        const link = found.querySelector('a.at');
        if (link) location.hash = link.getAttribute('href');
        leave();
    } else return;
    event.preventDefault();
});
found.addEventListener('click', leave);
document.addEventListener('click', event => {
    if (!event.target.closest('header')) found.hidden = true;
});
document.addEventListener('keydown', event => {
    if (event.key === '/' && document.activeElement !== box) {
        event.preventDefault();
        box.focus();
        box.select();
    }
});

// Light or dark: as the system, until the button says otherwise; then that is kept. A browser may refuse to keep it.
try {
    if (localStorage.wsqTheme) root.dataset.theme = localStorage.wsqTheme;
} catch { /* then it lasts as long as the page */ }
document.getElementById('theme').addEventListener('click', () => {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
    try {
        localStorage.wsqTheme = root.dataset.theme;
    } catch { /* the same */ }
});

// On a small screen the contents begin closed.
if (matchMedia('(max-width: 60rem)').matches) document.querySelector('#menu details').open = false;

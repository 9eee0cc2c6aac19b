/** Names for guests who have not thought of one. */

const FIRST = ['Amber', 'Brisk', 'Calm', 'Daring', 'Eager', 'Fair', 'Gentle', 'Happy', 'Ivory', 'Jolly', 'Keen', 'Lucky', 'Merry', 'Noble', 'Quick', 'Ruby', 'Silver', 'Sunny', 'Witty'];
const SECOND = ['Badger', 'Crane', 'Dolphin', 'Falcon', 'Fox', 'Heron', 'Lynx', 'Magpie', 'Marten', 'Otter', 'Owl', 'Panda', 'Raven', 'Robin', 'Seal', 'Stork', 'Swan', 'Tiger', 'Wolf'];

const one = (words) => words[Math.floor(Math.random() * words.length)];

export const anyName = () => `${one(FIRST)} ${one(SECOND)}`;

/** The options of a game: told in words, and chosen in a form that follows from their JSON Schema. */

import { h } from '../dom.js';
import { hasText, t } from '../i18n.js';

const named = (option) => (hasText(`option.${option}`) ? t(`option.${option}`) : option);

function valueInWords(value) {
  if (value === true) return t('option.yes');
  if (value === false) return t('option.no');
  if (value === null) return t('option.none');
  return hasText(`value.${value}`) ? t(`value.${value}`) : String(value);
}

/** Describe the options of a table as a list that can be opened. */
export function optionsInWords(options) {
  return h('details', { class: 'options' }, h('summary', {}, t('option.all')),
    h('dl', {}, Object.entries(options).map(([option, value]) => [h('dt', {}, named(option)), h('dd', {}, valueInWords(value))])));
}

/**
 * Describe the form. Only what is changed is given: to give an option is to set it (G11).
 *
 * @param schema `options_schema` of a game
 * @param given what has been chosen so far
 * @param choose called with an option and its value, undefined for "as usual"
 */
export function optionsForm(schema, given, choose) {
  const properties = Object.values(schema.$defs ?? {})[0]?.properties ?? {};
  return h('div', { class: 'option-form' }, Object.entries(properties).map(([option, kind]) => control(option, kind, given[option], choose)));
}

function control(option, kind, value, choose) {
  const label = named(option);
  const usual = t('option.usual', { value: valueInWords(kind.default) });
  const choices = choicesOf(kind);
  if (choices) {
    return h('label', {}, label,
      h('select', { value: value === undefined ? '' : JSON.stringify(value), onchange: (event) => choose(option, event.target.value === '' ? undefined : JSON.parse(event.target.value)) },
        h('option', { value: '' }, usual),
        choices.filter((choice) => choice !== kind.default).map((choice) => h('option', { value: JSON.stringify(choice) }, valueInWords(choice)))));
  }
  const bounds = kind.anyOf?.find(({ type }) => type === 'integer') ?? kind;
  return h('label', {}, label,
    h('input', {
      type: 'number', min: bounds.minimum, max: bounds.maximum, placeholder: usual, value: value === undefined ? '' : String(value),
      oninput: (event) => choose(option, event.target.value === '' ? undefined : Number(event.target.value)),
    }));
}

function choicesOf(kind) {
  if (kind.type === 'boolean') return [true, false];
  if (kind.enum) return kind.enum;
  return null;
}

/** A configuration as a file that applies as it: what readConfigFile takes, made from what is stored. */
import { stringify } from 'yaml';
import { fileFields, type FileFields, fileObject, type KeyOf } from './convert.js';
import { type Kind } from '../schema/kind.js';
import { fileNameOf, fileParts, isSingle, kinds, singles, topLists } from '../schema/kinds.js';
import { type ConfigDocument, type ConfigObject, listIn } from '../schema/model.js';

/** The key of everything that can be referred to in a document. */
export function keysOf(document: ConfigDocument): KeyOf {
  const keys = new Map(topLists.flatMap((list) => document[list].map(({ id, key }): [string, string] => [id, key])));
  return (kind, id) => {
    const key = keys.get(id);
    if (key === undefined) throw new Error(`the configuration refers to a ${kind} ${id}, which validation should have refused`);
    return key;
  };
}

/**
 * The contents of a file for the whole configuration: applied to an empty tenant it makes the same configuration, with other ids; applied
 * to its own it changes nothing. What is archived is not in it.
 */
export function fileContents(document: ConfigDocument): FileFields {
  const keyOf = keysOf(document);
  const list = (kind: Kind, objects: readonly ConfigObject[]): FileFields[] =>
    objects
      .filter(({ archived }) => !archived)
      .map((object) => ({
        ...fileObject(kind, object, keyOf),
        ...Object.fromEntries(kind.inside.map((inside) => [kinds[inside].file, list(kinds[inside], listIn(object, inside))])),
      }));
  // What there is one of is written whole: what it leaves out would stay as it is where the file is applied.
  const contents = fileParts.map((part) => [
    fileNameOf(part),
    isSingle(part) ? fileFields(singles[part].fields, document[part], keyOf) : list(kinds[part], document[part]),
  ]);
  return Object.fromEntries(contents) as FileFields;
}

/** These contents as YAML that `laurel apply` takes. */
export function exportConfig(document: ConfigDocument): string {
  // Texts over several lines are written with escapes: a block would lose what its line ends are.
  return stringify(fileContents(document), { lineWidth: 0, blockQuote: false, aliasDuplicateObjects: false });
}

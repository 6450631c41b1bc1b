/** A form made from a JSON Schema: no field of a node type is written by hand. */

import { useEffect, useId, useState } from "react";
import { useSpeech } from "../../app/i18n";

export interface Schema {
  $ref?: string;
  type?: string | string[];
  title?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  $defs?: Record<string, Schema>;
}

/** The schema that a reader would fill in: references followed, "or null" and "or a variable" left out. */
export function plain(schema: Schema, root: Schema): Schema {
  const followed = follow(schema, root);
  const choices = (followed.anyOf ?? followed.oneOf ?? [])
    .filter((one) => one.$ref !== "#/$defs/Variable" && one.type !== "null")
    .map((one) => plain(one, root));
  const about = { title: followed.title, description: followed.description, default: followed.default };
  if (choices.length === 0) return followed;
  if (choices.length === 1) return { ...choices[0], ...defined(about) };
  const values = choices.flatMap((one) => one.enum ?? (one.const !== undefined ? [one.const] : []));
  if (values.length > 0 && choices.every((one) => one.enum || one.const !== undefined)) return { ...about, enum: values };
  const types = new Set(choices.map((one) => one.type));
  if (types.size === 1) return { ...choices[0], ...defined(about) };
  if (types.has("number") && types.has("string") && types.size === 2) return { ...about, type: "string" };
  return { ...about, anyOf: choices };
}

function defined<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as Partial<T>;
}

function follow(schema: Schema, root: Schema): Schema {
  let current = schema;
  for (let depth = 0; current.$ref && depth < 20; depth += 1) {
    const name = current.$ref.replace("#/$defs/", "");
    const { $ref: _, ...beside } = current;
    current = { ...root.$defs?.[name], ...beside };
  }
  return current;
}

const LONG = new Set(["role", "content", "description", "message", "code", "prompt"]);

interface FormProps {
  schema: Schema;
  root: Schema;
  value: Record<string, unknown>;
  onChange: (key: string, value: unknown) => void;
  skip?: string[];
}

export function SchemaForm({ schema, root, value, onChange, skip = [] }: FormProps) {
  const { t } = useSpeech();
  const whole = follow(schema, root);
  const fields = Object.entries(whole.properties ?? {}).filter(([key]) => !skip.includes(key));
  const required = new Set(whole.required ?? []);
  const isUsed = (key: string): boolean => required.has(key) || value[key] !== undefined;
  const words = fields.filter(([key]) => LONG.has(key) && !isUsed(key));
  const others = fields.filter(([key]) => !LONG.has(key) && !isUsed(key));
  const used = fields.filter(([key]) => isUsed(key));
  const first = [...used, ...[...words, ...others].slice(0, Math.max(0, 4 - used.length))];
  const rest = fields.filter((field) => !first.includes(field));
  const view = ([key, field]: [string, Schema]) => (
    <Field
      key={key}
      name={key}
      schema={plain(field, root)}
      root={root}
      value={value[key]}
      required={required.has(key)}
      onChange={(next) => onChange(key, next)}
    />
  );
  return (
    <div className="form">
      {first.map(view)}
      {rest.length > 0 && (
        <details>
          <summary>{t("editor.more")}</summary>
          <div className="form">{rest.map(view)}</div>
        </details>
      )}
    </div>
  );
}

interface FieldProps {
  name: string;
  schema: Schema;
  root: Schema;
  value: unknown;
  required: boolean;
  onChange: (value: unknown) => void;
}

function Field({ name, schema, root, value, required, onChange }: FieldProps) {
  const id = useId();
  if (schema.type === "boolean") {
    return (
      <div>
        <label className="choice">
          <input
            type="checkbox"
            checked={Boolean(value ?? schema.default)}
            onChange={(event) => onChange(event.target.checked === schema.default ? undefined : event.target.checked)}
          />
          <code>{name}</code>
        </label>
        {schema.description && <p className="hint">{schema.description}</p>}
      </div>
    );
  }
  return (
    <div>
      <label htmlFor={id} className="name">
        <code>{name}</code>
        {required ? " *" : ""}
      </label>
      <Input id={id} name={name} schema={schema} root={root} value={value} onChange={onChange} />
      {schema.description && <p className="hint">{schema.description}</p>}
    </div>
  );
}

type InputProps = Omit<FieldProps, "required"> & { id: string };

function Input({ id, name, schema, value, onChange }: InputProps) {
  const placeholder = schema.default === undefined || schema.default === null ? "" : show(schema.default);
  if (schema.enum) {
    return (
      <select id={id} className="field" value={value === undefined ? "" : String(value)} onChange={(event) => onChange(pick(schema, event.target.value))}>
        <option value="">{placeholder || "–"}</option>
        {schema.enum.map((one) => (
          <option key={String(one)} value={String(one)}>
            {String(one)}
          </option>
        ))}
      </select>
    );
  }
  if (schema.type === "integer" || schema.type === "number") {
    return (
      <input
        id={id}
        className="field"
        type="number"
        min={schema.minimum}
        max={schema.maximum}
        step={schema.type === "integer" ? 1 : "any"}
        placeholder={placeholder}
        value={value === undefined ? "" : String(value)}
        onChange={(event) => onChange(event.target.value === "" ? undefined : Number(event.target.value))}
      />
    );
  }
  if (schema.type === "string") {
    const props = {
      id,
      className: "field",
      placeholder,
      value: typeof value === "string" ? value : value === undefined ? "" : show(value),
      onChange: (event: { target: { value: string } }) => onChange(event.target.value === "" ? undefined : event.target.value),
    };
    return LONG.has(name) ? <textarea rows={4} {...props} /> : <input type="text" {...props} />;
  }
  if (schema.type === "array" && schema.items?.type === "string") {
    return (
      <textarea
        id={id}
        className="field"
        rows={3}
        value={Array.isArray(value) ? value.join("\n") : ""}
        onChange={(event) => onChange(event.target.value === "" ? undefined : event.target.value.split("\n"))}
      />
    );
  }
  return <JsonInput id={id} value={value} onChange={onChange} placeholder={placeholder} />;
}

function pick(schema: Schema, text: string): unknown {
  return text === "" ? undefined : (schema.enum ?? []).find((one) => String(one) === text);
}

function show(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A value of any shape, written as JSON; it is taken over as soon as it can be read. */
function JsonInput({ id, value, onChange, placeholder }: { id: string; value: unknown; placeholder: string; onChange: (value: unknown) => void }) {
  const { t } = useSpeech();
  const shown = value === undefined ? "" : JSON.stringify(value, null, 2);
  const [text, setText] = useState(shown);
  const [wrong, setWrong] = useState(false);
  useEffect(() => {
    setText((before) => (same(before, value) ? before : shown));
    setWrong(false);
  }, [shown]);
  return (
    <textarea
      id={id}
      className="field mono"
      rows={Math.min(8, Math.max(2, text.split("\n").length))}
      placeholder={placeholder || t("editor.json")}
      aria-invalid={wrong}
      value={text}
      onChange={(event) => {
        const next = event.target.value;
        setText(next);
        try {
          onChange(next.trim() === "" ? undefined : JSON.parse(next));
          setWrong(false);
        } catch {
          setWrong(true);
        }
      }}
    />
  );
}

function same(text: string, value: unknown): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value);
  } catch {
    return text.trim() === "" && value === undefined;
  }
}

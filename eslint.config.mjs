// Rules for the page of the studio, without anything to install in the tree: `make lint` asks npm for eslint itself.
const page = ["AbortController", "Blob", "EventSource", "FormData", "Image", "ImageData", "ResizeObserver", "SharedWorker", "URL", "URLSearchParams", "XMLHttpRequest", "cancelAnimationFrame", "clearInterval", "clearTimeout", "console", "crypto", "devicePixelRatio", "document", "fetch", "getComputedStyle", "history", "innerHeight", "innerWidth", "location", "matchMedia", "navigator", "performance", "requestAnimationFrame", "self", "sessionStorage", "setInterval", "setTimeout", "window"];
const readonly = (names) => Object.fromEntries(names.map((name) => [name, "readonly"]));

const markup = ["innerHTML", "outerHTML", "insertAdjacentHTML", "dangerouslySetInnerHTML"];

export default [
  { ignores: ["ancr/studio/static/htm-preact.js"] },
  {
    files: ["ancr/studio/static/*.js", "tests/**/*.mjs"],
    linterOptions: { reportUnusedDisableDirectives: "error" },
    languageOptions: { ecmaVersion: 2022, sourceType: "module", globals: readonly(page) },
    rules: {
      ...Object.fromEntries([
        "array-callback-return", "constructor-super", "default-case-last", "for-direction", "getter-return", "no-async-promise-executor", "no-class-assign", "no-compare-neg-zero",
        "no-cond-assign", "no-const-assign", "no-constant-binary-expression", "no-constant-condition", "no-debugger", "no-dupe-args", "no-dupe-class-members",
        "no-dupe-else-if", "no-dupe-keys", "no-duplicate-case", "no-empty-pattern", "no-eval", "no-ex-assign", "no-fallthrough", "no-func-assign", "no-implied-eval", "no-import-assign",
        "no-invalid-regexp", "no-irregular-whitespace", "no-loop-func", "no-loss-of-precision", "no-new-func", "no-obj-calls", "no-prototype-builtins", "no-redeclare", "no-self-assign",
        "no-self-compare", "no-sparse-arrays", "no-template-curly-in-string", "no-this-before-super", "no-throw-literal", "no-undef", "no-unmodified-loop-condition",
        "no-unreachable", "no-unsafe-finally", "no-unsafe-negation", "no-unsafe-optional-chaining", "no-unused-labels", "no-useless-catch", "no-useless-escape",
        "no-useless-rename", "no-var", "no-with", "object-shorthand", "prefer-const", "require-yield", "use-isnan", "valid-typeof",
      ].map((rule) => [rule, "error"])),
      "eqeqeq": ["error", "always", { null: "ignore" }],
      "no-empty": ["error", { allowEmptyCatch: true }],
      "no-unused-vars": ["error", { argsIgnorePattern: "^_", ignoreRestSiblings: true }],
      // Names of files, classes and columns are shown as text; nothing on the page is made of markup in a string.
      "no-restricted-properties": ["error", ...markup.map((property) => ({ property }))],
      "no-restricted-syntax": ["error", { selector: "Property[key.name='dangerouslySetInnerHTML']", message: "Text is shown as text." }],
    },
  },
];

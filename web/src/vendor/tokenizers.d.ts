// The build copies npm @huggingface/tokenizers to vendor/tokenizers.js where an app uses a Tokenizer.
export * from "@huggingface/tokenizers";

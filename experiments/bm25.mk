# BM25 tuned as the models beside it are: of these settings the one that is best for training queries.
BM25_K1 := 0.6 0.9 1.2 1.5 2 3 4 6
BM25_B := 0.25 0.5 0.75 0.9 1

# a choice, as flags of `search`: its file, documents, queries, their judgements (flags of `score`) and other files
define bm25-choice
$(1): $(2) $(3) $(5)
	@rm -rf $$@.tried && mkdir -p $$@.tried
	for k1 in $(BM25_K1); do for b in $(BM25_B); do \
	  $$(STRUCTKIT) search -q $(2) --method bm25 --k1 $$$$k1 -b $$$$b --queries $(3) -o "$$@.tried/$$$$k1 $$$$b.jsonl"; \
	done; done
	$$(STRUCTKIT) score -q $(4) --measures RR@100 $$@.tried/*.jsonl -o $$@.tried/scores
	sed -E 's,.*/([^/ ]+) ([^/ ]+)[.]jsonl".*"RR@100":([0-9.e-]+).*,\3 --k1 \1 -b \2,' $$@.tried/scores \
	  | sort -g -r | head -n 1 | cut -d ' ' -f 2- > $$@
endef

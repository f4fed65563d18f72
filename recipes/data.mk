# Data for the other recipes, from public addresses at pinned revisions: experiments/data/sets.yaml has them, with licenses and
# sums. Without SET, the sets that README's tables on code need. MIRROR has copies of GitHub's repositories as OWNER/NAME, for
# machines that cannot reach it. The same command goes on where it stopped.
.PHONY: data

SET :=
MIRROR :=
# another file that declares sets
DECLARED :=
data: $(RUNNABLE) ## Public data into data/: make data [SET='repositories cosqa'] [MIRROR=FOLDER]
	$(BIN)/python -m experiments.data $(SET) --to '$(DATA)' $(if $(MIRROR),--mirror '$(MIRROR)') $(if $(DECLARED),--sets '$(DECLARED)')
	@[ ! -e '$(CODESEARCH)/.fetched' ] || $(MAKE) --no-print-directory $(CODE_SETS:%=$(CODESEARCH)/%.jsonl.gz)

# Functions and their documentation, as CodeSearchNet chose them: the documentation's first paragraph has three words, the
# function three lines; no tests, and none that only a constructor or another language's protocol calls. `dev` is of other
# repositories than `train`. In `dev_adv_python` each name is replaced by a number; AdvTest keeps those of what is called.
CODESEARCH = $(DATA)/codesearch
CODE_SETS := train dev dev_adv_python
LATER_PARAGRAPHS := (?s)\n\s*\n.*
$(CODESEARCH)/train.jsonl.gz $(CODESEARCH)/dev.jsonl.gz: $(CODESEARCH)/%.jsonl.gz:
	$(STRUCTKIT) collect $(wildcard $(CODESEARCH)/$*-*.tar.gz) --unit function $(NO_TESTS) \
	  | $(STRUCTKIT) select --where 'language~^(python|java|go|php|javascript|ruby)$$' --where 'code~\n.*\n' \
	    --where 'name~^(?!__|test|Test|constructor$$|initialize$$|toString$$)' \
	    --strip 'id=^.*codesearch/' --strip 'docstring=$(LATER_PARAGRAPHS)' \
	  | $(STRUCTKIT) select --where 'docstring~^[^@{<]*\w+\W+\w+\W+\w' --fields id,language,name,docstring,code \
	    --rename name=func_name -o $@
$(CODESEARCH)/dev_adv_python.jsonl.gz: $(CODESEARCH)/dev.jsonl.gz
	$(STRUCTKIT) select $< --where language=python | $(STRUCTKIT) pair \
	  | $(STRUCTKIT) mask-entities --language python --field positive --types --keep-plain \
	  | sed -E 's/<extra_id_([0-9]+)>/v\1/g' \
	  | $(STRUCTKIT) select --fields id,language,query,masked --rename query=docstring --rename masked=code -o $@

# a recipe's first line: what it reads is there
needs = @test -e '$(DATA)/$(1)' \
  || { echo 'missing $(DATA)/$(1); run make data SET=$(firstword $(subst /, ,$(1))), or make $(if $(EXPERIMENTS),-C experiments )$@ DATA=FOLDER' >&2; exit 2; }

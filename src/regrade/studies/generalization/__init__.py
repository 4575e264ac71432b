"""Study of generalization: do accuracies hold on new test sets? (Recht et al. 2019)"""
